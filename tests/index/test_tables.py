import pytest
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from index.facets import matching
from index.tables import connect, schema


def test_every_table_can_be_made_in_postgresql():
    for table in schema.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=postgresql.dialect()))


def test_filter_carries_its_values_as_parameters():
    odd = '"; DROP TABLE items; --'
    compiled = matching(1, {odd: odd}).compile(dialect=postgresql.dialect())
    assert "DROP" not in str(compiled)
    assert odd in compiled.params.values()


def test_database_of_another_layout_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.sqlite'}"
    connect(url)[0].dispose()
    connect(url)[0].dispose()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE settings SET value = 99 WHERE name = 'layout'")
    with pytest.raises(ValueError, match=r"a.sqlite was made by another version.*layout 99"):
        connect(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE settings")
    engine.dispose()
    with pytest.raises(ValueError, match=r"have layout 1, and this version reads layout 3"):
        connect(url)


def test_sqlite_keeps_what_it_has_acknowledged(tmp_path):
    reading, _ = connect(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with reading.begin() as connection:
        settings = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "auto_vacuum")
        ]
    reading.dispose()
    assert settings == ["wal", 2, 1, 2]  # FULL is 2, and INCREMENTAL is 2
