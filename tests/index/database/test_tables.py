from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from index.catalog.facets import passing
from index.database.tables import schema


def test_every_table_can_be_made_in_postgresql():
    for table in schema.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=postgresql.dialect()))


def test_filter_carries_its_values_as_parameters():
    odd = '"; DROP TABLE items; --'
    compiled = passing(1, {odd: odd}).compile(dialect=postgresql.dialect())
    assert "DROP" not in str(compiled)
    assert odd in compiled.params.values()
