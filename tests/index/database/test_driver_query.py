"""Queries by the driver alone."""

from __future__ import annotations

from contextlib import closing
from select import select as select_files

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import bindparam, or_, select

from index.catalog.catalog import Catalog
from index.database.driver_query import DriverQuery, borrow
from index.database.errors import Busy
from index.database.storage import Storage
from index.database.tables import collections
from tests.processes.servers import DISCONNECT


def test_a_parameter_may_be_used_twice(catalog: Catalog) -> None:
    for name in ("one", "two"):
        catalog.names.make(name, fingerprint="one", dimension=3, score="sum_of_max")
    named = or_(
        collections.c.name == bindparam("name"), collections.c.fingerprint == bindparam("name")
    )
    query = DriverQuery(
        select(collections.c.name, collections.c.dimension)
        .where(named, collections.c.dimension == bindparam("dimension"))
        .order_by(collections.c.name)
    )
    reader = catalog.reader
    with borrow(reader) as connection:

        def fetch(**parameters: object) -> list[tuple[object, ...]]:
            rows = query.fetch(connection, reader.dialect, **parameters)
            return [tuple(row) for row in rows]

        assert fetch(name="two", dimension=3) == [("two", 3)]
        assert fetch(dimension=3, name="one") == [("one", 3), ("two", 3)]
        assert fetch(name="two", dimension=4) == []


def test_rows_with_one_of_any_number_of_values(catalog: Catalog) -> None:
    names = [f"{number:02}" for number in range(9)]
    for name in names:
        catalog.names.make(name, fingerprint="one", dimension=3, score="sum_of_max")
    query = DriverQuery(
        select(collections.c.name)
        .where(collections.c.dimension == bindparam("dimension"), collections.c.dimension > 2)
        .order_by(collections.c.name),
        among=collections.c.name,
    )
    reader = catalog.reader
    with borrow(reader) as connection:
        for count in (0, 1, 2, 3, 5, 8, 9):
            asked = [*names[:count], "none", "none"] if count else []
            rows = query.fetch(connection, reader.dialect, asked, dimension=3)
            assert [name for (name,) in rows] == names[:count]
        with pytest.raises(KeyError, match="dimension"):
            query.fetch(connection, reader.dialect, names)


@pytest.fixture
def there(postgresql, tmp_path):
    """A catalog in PostgreSQL, and a way to end its connections."""
    with postgresql.database() as url:

        def disconnect() -> None:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(DISCONNECT)

        with closing(Catalog(Storage(tmp_path, database=url))) as catalog:
            yield catalog, disconnect


COUNT = DriverQuery(select(collections.c.name))


def test_a_query_is_a_transaction_of_its_own(there):
    catalog, _ = there
    with borrow(catalog.reader) as connection:
        driver = connection.driver_connection
        assert COUNT.fetch(connection, catalog.reader.dialect) == []
        assert driver.info.transaction_status == TransactionStatus.IDLE
    assert not driver.autocommit  # others of the pool begin transactions


def test_a_connection_that_the_server_ended_is_not_used_again(there):
    catalog, disconnect = there
    for _ in range(3):
        with borrow(catalog.reader) as connection, borrow(catalog.reader) as other:
            assert COUNT.fetch(connection, catalog.reader.dialect) == []
            assert COUNT.fetch(other, catalog.reader.dialect) == []
        disconnect()


def test_a_connection_that_ends_while_it_is_used_says_so_and_goes(there):
    catalog, disconnect = there

    def read_while_it_ends() -> None:
        with borrow(catalog.reader) as connection:
            disconnect()
            COUNT.fetch(connection, catalog.reader.dialect)

    with pytest.raises(Busy):
        read_while_it_ends()
    with borrow(catalog.reader) as connection:
        assert COUNT.fetch(connection, catalog.reader.dialect) == []


def test_a_connection_with_a_notice_is_used_again(there):
    catalog, _ = there
    with borrow(catalog.reader) as connection:
        driver = connection.driver_connection
        COUNT.fetch(connection, catalog.reader.dialect)
        connection.cursor().execute("LISTEN told")
    with psycopg.connect(driver.info.dsn, autocommit=True) as other:
        other.execute("NOTIFY told")
    assert select_files([driver], [], [], 10)[0]
    with borrow(catalog.reader) as connection:
        assert connection.driver_connection is driver
        assert COUNT.fetch(connection, catalog.reader.dialect) == []
