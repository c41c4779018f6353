"""Queries by the driver alone."""

from __future__ import annotations

from contextlib import closing

import pytest
from sqlalchemy import bindparam, or_, select

from index.catalog.catalog import Catalog
from index.database.driver_query import DriverQuery
from index.database.tables import collections


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
    with closing(reader.raw_connection()) as connection:

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
    with closing(reader.raw_connection()) as connection:
        for count in (0, 1, 2, 3, 5, 8, 9):
            asked = [*names[:count], "none", "none"] if count else []
            rows = query.fetch(connection, reader.dialect, asked, dimension=3)
            assert [name for (name,) in rows] == names[:count]
        with pytest.raises(KeyError, match="dimension"):
            query.fetch(connection, reader.dialect, names)
