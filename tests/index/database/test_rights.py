"""Rights of PostgreSQL's user, and a refused one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from index.backup import snapshots
from index.backup.snapshots import NotEmpty
from index.catalog.catalog import Catalog
from index.database import migrations
from index.database.engines import connect, url_of
from index.database.errors import Busy, Damaged, RightsLacking
from index.database.outages import Outages
from index.database.storage import Storage

USER = "poor"


@contextmanager
def poor_user(url: str) -> Iterator[str]:
    """A user without rights, and the database's URL for it."""
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {USER} LOGIN")
        owner.execute("REVOKE CREATE ON SCHEMA public FROM public")
        try:
            yield url.replace("tessera@", f"{USER}@")
        finally:
            owner.execute(f"DROP OWNED BY {USER}")
            owner.execute(f"DROP ROLE {USER}")


def test_a_user_that_may_make_no_tables_is_told_what_to_grant(postgresql, tmp_path):
    with (
        postgresql.database() as url,
        poor_user(url) as poor,
        pytest.raises(RightsLacking, match=r"permission denied for schema public; GRANT the"),
    ):
        connect(url_of(poor, tmp_path))


def test_changes_without_rights_are_refused_in_a_sentence(postgresql, tmp_path, entry):
    with postgresql.database() as url, poor_user(url) as poor:
        Catalog(Storage(tmp_path, url)).close()
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {USER}")
        with closing(Catalog(Storage(tmp_path, poor))) as catalog:
            assert catalog.names.all() == []
            with pytest.raises(RightsLacking, match=r"lacks rights on .*\bitems\b.*: GRANT"):
                catalog.check_rights()
            with pytest.raises(RightsLacking, match="permission denied for table collections"):
                catalog.names.make("a", fingerprint="f", dimension=8, score="sum_of_max")
            with psycopg.connect(url, autocommit=True) as owner:
                rights = "SELECT, INSERT, UPDATE, DELETE"
                owner.execute(f"GRANT {rights} ON ALL TABLES IN SCHEMA public TO {USER}")
                with pytest.raises(RightsLacking, match=r"rights on collections_key_seq: GRANT"):
                    catalog.check_rights()
                owner.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {USER}")
            catalog.check_rights()
            home = catalog.names.make("a", fingerprint="f", dimension=8, score="sum_of_max")
            catalog.replace(home, entry("b"))
            assert catalog.count(home) == 1


def test_the_owner_of_the_tables_lacks_no_right(catalog):
    catalog.check_rights()


def test_a_refused_user_is_named_to_operators_alone(postgresql, tmp_path, caplog):
    with postgresql.database() as url, poor_user(url) as poor:
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute(f"GRANT ALL ON SCHEMA public TO {USER}")
        engines = connect(url_of(poor, tmp_path), wait=1)
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute(f"ALTER ROLE {USER} NOLOGIN")
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"
            owner.execute(ended, [USER])
        outages = Outages(logging.getLogger("tessera"), "the follower")
        for _ in range(2):  # the first loses the connection that it has
            with outages.survive(), engines.writer.begin():
                pass
        assert f'FATAL: role "{USER}" is not permitted to log in' in caplog.text
        with pytest.raises(Busy) as told:
            engines.reader.connect()
        assert str(told.value) == "the database cannot be reached; try again in a moment"
        engines.dispose()


def test_advice_to_restore_names_an_empty_database(postgresql, tmp_path, entry):
    with postgresql.database() as url:
        with closing(Catalog(Storage(tmp_path / "data", url))) as catalog:
            home = catalog.names.make("a", fingerprint="f", dimension=8, score="sum_of_max")
            catalog.replace(home, entry("b"))
            snapshots.snapshot(catalog, tmp_path / "a.tar", lambda *_: None)
            with pytest.raises(NotEmpty, match="an empty database, which TESSERA_DATABASE has to"):
                snapshots.restore(catalog, tmp_path / "a.tar", tmp_path / "data", lambda *_: None)
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute("UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(ValueError, match=r"newer version .* an empty database, which"):
            connect(url_of(url, tmp_path))
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute("UPDATE alembic_version SET version_num = %s", [migrations.newest()])
            owner.execute("DROP TABLE facets")
        with pytest.raises(Damaged, match="an empty database, which TESSERA_DATABASE has to name"):
            connect(url_of(url, tmp_path))
