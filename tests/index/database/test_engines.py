import os
import sqlite3
import threading
import time
from contextlib import closing

import psycopg
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import IntegrityError

from index.catalog.catalog import Catalog
from index.database import acknowledged
from index.database import engines as databases
from index.database.engines import connect, migrate, url_of
from index.database.errors import Busy, Damaged, DiskRefuses, translate_errors
from index.database.storage import WAIT, Storage
from index.database.tables import settings
from index.segments.follower import Follower
from tests.catalogs import Catalogs


def test_address_is_of_sqlite_or_postgresql(tmp_path):
    assert str(url_of("", tmp_path)) == f"sqlite:///{tmp_path}/catalog.sqlite"
    assert url_of("sqlite:////a/b", tmp_path).database == "/a/b"
    for scheme in ("postgres", "postgresql", "postgresql+psycopg"):
        url = url_of(f"{scheme}://me:word@there:5433/photos", tmp_path)
        assert (url.drivername, url.port, url.database) == ("postgresql+psycopg", 5433, "photos")


@pytest.mark.parametrize(
    "wrong", ["mysql://me:word@there/x", "sqlite://", "photos", "postgres://a"]
)
def test_wrong_address_is_refused_without_its_password(wrong, tmp_path):
    with pytest.raises(ValueError, match=r"use sqlite:///FILE or postgresql://") as refused:
        url_of(wrong, tmp_path)
    assert "word@" not in str(refused.value)


def test_a_new_database_is_for_its_user_alone(tmp_path):
    former = os.umask(0o022)
    try:
        Catalog(Storage(tmp_path / "data")).close()
    finally:
        os.umask(former)
    files = [tmp_path / "data", tmp_path / "data" / "catalog.sqlite"]
    assert [file.stat().st_mode & 0o077 for file in files] == [0, 0]


def test_unreachable_database_is_told_at_once_without_its_password(tmp_path):
    with pytest.raises(Busy, match=r"127.0.0.1:9/x cannot be opened: .*refused") as told:
        connect(url_of("postgres://me:secret@127.0.0.1:9/x", tmp_path))
    assert "secret" not in str(told.value)


def test_missing_database_is_named(postgresql, tmp_path):
    with pytest.raises(Busy, match='database "nowhere" does not exist'):
        connect(url_of(postgresql.address("nowhere"), tmp_path))


def test_file_that_cannot_be_made_is_named(tmp_path):
    with pytest.raises(OSError, match=r"missing/a.sqlite cannot be opened: .*unable to open"):
        connect(f"sqlite:///{tmp_path}/missing/a.sqlite")


def test_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "a.sqlite").write_bytes(b"these are photos, not a database" * 300)
    with pytest.raises(Damaged, match=r"a.sqlite cannot be opened: .*not a database"):
        connect(f"sqlite:///{tmp_path / 'a.sqlite'}")


def test_damaged_file_is_told_from_a_bug(tmp_path):
    path = tmp_path / "a.sqlite"
    connect(f"sqlite:///{path}").dispose()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(Damaged, match=r"a.sqlite cannot be opened: .*malformed"):
        connect(f"sqlite:///{path}")


def test_sqlite_keeps_what_it_has_acknowledged(tmp_path):
    engines = connect(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with engines.reader.begin() as connection:
        pragmas = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "auto_vacuum")
        ]
    engines.dispose()
    assert pragmas == ["wal", 2, 1, 2]  # FULL is 2, and INCREMENTAL is 2


@pytest.fixture
def engines(database, tmp_path):
    opened = connect(url_of(database, tmp_path), wait=0.2)
    yield opened
    opened.dispose()


def test_reader_sees_one_state_and_writes_nothing(engines):
    value = settings.select().where(settings.c.name == "x")
    with engines.reader.begin() as reading:
        assert reading.execute(value).all() == []
        with engines.writer.begin() as writing:
            writing.execute(settings.insert().values(name="x", value="1"))
        assert reading.execute(value).all() == []
    with engines.reader.begin() as reading:
        assert len(reading.execute(value).all()) == 1


def test_writer_that_waits_too_long_is_told_busy_and_readers_are_not(engines):
    with engines.exclusive.begin():
        started = time.monotonic()
        with pytest.raises(Busy, match="try again"), engines.writer.begin():
            pass
        assert time.monotonic() - started > 0.15
        with engines.reader.begin() as connection:
            assert connection.execute(text("SELECT count(*) FROM settings")).scalar() == 3
    with engines.writer.begin():
        pass


def test_exclusive_transaction_waits_for_writers(engines):
    with engines.writer.begin(), pytest.raises(Busy), engines.exclusive.begin():
        pass


def test_writers_of_postgresql_share_their_lock(postgresql, tmp_path):
    with postgresql.database() as url:
        engines = connect(url_of(url, tmp_path), wait=0.2)
        with engines.writer.begin(), engines.writer.begin():
            pass
        engines.dispose()


def test_connections_that_are_all_in_use_are_busy(engines):
    pool = engines.reader.pool
    held = [engines.reader.connect() for _ in range(pool.size() + pool._max_overflow)]
    with pytest.raises(Busy, match="all connections"):
        engines.reader.connect()
    for connection in held:
        connection.close()


def test_postgresql_that_comes_back_is_used_again(postgresql, tmp_path):
    with postgresql.database() as url:
        engines = connect(url_of(url, tmp_path), wait=1)
        with engines.reader.begin() as connection:
            process = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        postgresql.stop()
        with pytest.raises(Busy, match="cannot be reached"), engines.writer.begin():
            pass
        postgresql.start()
        with engines.writer.begin() as connection:
            assert connection.exec_driver_sql("SELECT pg_backend_pid()").scalar() != process
        engines.dispose()


def test_session_that_the_server_ends_is_busy_and_nothing_is_half_done(postgresql, tmp_path):
    with postgresql.database() as url:
        engines = connect(url_of(url, tmp_path))

        def write_twice():
            with engines.writer.begin() as connection:
                connection.execute(settings.insert().values(name="x", value="1"))
                own = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
                with psycopg.connect(url, autocommit=True) as other:
                    other.execute("SELECT pg_terminate_backend(%s)", [own])
                connection.execute(settings.insert().values(name="y", value="1"))

        with pytest.raises(Busy):
            write_twice()
        with engines.reader.begin() as connection:
            assert connection.execute(text("SELECT count(*) FROM settings")).scalar() == 3
        engines.dispose()


def test_deadlock_is_busy(postgresql, tmp_path):
    with postgresql.database() as url:
        engines = connect(url_of(url, tmp_path))
        names = ("layout", "secret")
        both = threading.Barrier(2)
        failed = []

        def change(first, second):
            update = settings.update().values(value="x")
            try:
                with engines.writer.begin() as connection:
                    connection.execute(update.where(settings.c.name == first))
                    both.wait()
                    connection.execute(update.where(settings.c.name == second))
            except Busy as busy:
                failed.append(busy)

        threads = [threading.Thread(target=change, args=order) for order in (names, names[::-1])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(failed) == 1
        engines.dispose()


def test_text_with_nul_is_the_callers_mistake(postgresql, tmp_path):
    with postgresql.database() as url:
        engines = connect(url_of(url, tmp_path))
        with engines.reader.begin() as connection, pytest.raises(ValueError, match="NUL character"):
            connection.execute(settings.select().where(settings.c.name == "a\0b"))
        engines.dispose()


def test_processes_that_make_a_database_at_once_share_one_secret(database, tmp_path):
    url = url_of(database, tmp_path)
    secrets, ready = [], threading.Barrier(4)

    def make():
        ready.wait()
        engines = connect(url)
        with engines.reader.begin() as connection:
            found = connection.execute(text("SELECT value FROM settings WHERE name = 'secret'"))
            secrets.append(found.scalar_one())
        engines.dispose()

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(secrets) == 4
    assert len(set(secrets)) == 1


def test_database_in_another_encoding_is_refused(postgresql, tmp_path):
    with postgresql.database() as url:
        name = make_url(url).database + "_ascii"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' LOCALE_PROVIDER libc "
                "TEMPLATE template0"
            )
        with pytest.raises(ValueError, match="does not store text as UTF-8"):
            connect(url_of(postgresql.address(name), tmp_path))


def test_old_postgresql_is_refused(postgresql, tmp_path, monkeypatch):
    monkeypatch.setattr(databases, "OLDEST", 99)
    with postgresql.database() as url, pytest.raises(ValueError, match="PostgreSQL 99 or newer"):
        connect(url_of(url, tmp_path))


def test_running_service_writes_nothing_into_a_newer_database(engines, monkeypatch):
    with engines.writer.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with (
        pytest.raises(Busy, match=r"migrated to version 9999 .* restart it"),
        engines.writer.begin(),
    ):
        pass


def test_migrating_waits_for_other_writers(engines, database, tmp_path):
    with engines.writer.begin(), pytest.raises(Busy):
        migrate(Storage(tmp_path, database, wait=0.1))
    before, now = migrate(Storage(tmp_path, database))
    assert before == now


def test_sqlite_is_locked_for_no_longer_than_asked(tmp_path):
    path = tmp_path / "a.sqlite"
    engines = connect(f"sqlite:///{path}", wait=0.3)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    with pytest.raises(Busy, match="another process is writing"), engines.writer.begin():
        pass
    assert 0.2 < time.monotonic() - started < WAIT, "sooner than by default"
    other.close()
    engines.dispose()


def test_statistics_of_postgresql_follow_a_collection_that_grows(postgresql, tmp_path, entry):
    def counted():
        with catalog.reader.begin() as connection:
            found = connection.exec_driver_sql(
                "SELECT most_common_vals::text FROM pg_stats "
                "WHERE tablename = 'items' AND attname = 'collection'"
            )
            return (found.scalar() or "{}").strip("{}").split(",")

    with (
        postgresql.database() as url,  # a new one: statistics of an emptied one stay
        closing(Catalog(Storage(tmp_path, database=url))) as catalog,
    ):
        for name in ("a", "b"):
            home = catalog.names.make(name, fingerprint="a", dimension=8, score="sum_of_max")
            assert str(home.key) not in counted()
            catalog.put_many(home, [entry(f"{number}") for number in range(20)])
            Follower(catalog, home, tmp_path / name).step(flush=True)
            assert str(home.key) in counted()


LACKING = {
    "a secret": "DELETE FROM settings WHERE name = 'secret'",
    "a secret that says something": "UPDATE settings SET value = '' WHERE name = 'secret'",
    "settings": "DROP TABLE settings",
    "a column": "ALTER TABLE items DROP COLUMN metadata",
    "another column": "ALTER TABLE collections DROP COLUMN floor",
    "a table": "DROP TABLE facets",
    "a version": "DELETE FROM alembic_version",
    "a table of versions": "DROP TABLE alembic_version",
    "versions and a layout": "DROP TABLE alembic_version; DELETE FROM settings",
    "all it says": "UPDATE alembic_version SET version_num = '0001'",
}


@pytest.mark.parametrize("lacking", LACKING)
def test_catalog_that_lacks_something_is_refused_with_what_to_do(
    catalogs: Catalogs, tmp_path, lacking
):
    with catalogs.in_folder(tmp_path):
        pass
    connection = sqlite3.connect(tmp_path / "catalog.sqlite")
    connection.executescript(LACKING[lacking])
    connection.close()
    acknowledged.path_of(tmp_path / "catalog.sqlite").unlink()  # it tells such losses before
    with pytest.raises((Damaged, ValueError), match="restore a snapshot into a new folder"):
        Catalog.in_folder(tmp_path)


def test_table_that_goes_while_it_is_used_is_told_as_damage(catalogs: Catalogs, tmp_path):
    with catalogs.in_folder(tmp_path) as catalog:
        home = catalog.names.make("a", fingerprint="f", dimension=2, score="sum_of_max")
        with catalog.exclusive.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE items DROP COLUMN stamp")
        with pytest.raises(Damaged, match=r"no such column: items.stamp\): restore"):
            catalog.list_items(home)


def test_disk_that_takes_no_writes_is_told_in_our_words(tmp_path):
    connect(f"sqlite:///{tmp_path / 'a.sqlite'}").dispose()
    address = f"file:{tmp_path / 'a.sqlite'}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        refused = pytest.raises(DiskRefuses, match="read-only or fails, so nothing was stored")
        with refused, translate_errors():
            connection.execute("DELETE FROM settings")


@pytest.mark.sqlite
def test_log_that_grew_while_others_read_is_cut_back(tmp_path, monkeypatch):
    monkeypatch.setattr(databases, "LOG_BYTES", 2**16)
    engines = connect(f"sqlite:///{tmp_path / 'a.sqlite'}")
    log = tmp_path / "a.sqlite-wal"
    with engines.reader.begin() as reader:
        reader.exec_driver_sql("SELECT count(*) FROM settings").scalar()
        for number in range(8):
            with engines.exclusive.begin() as writer:
                row = {"name": f"n{number}", "value": "x" * 2**19}
                writer.execute(settings.insert(), row)
        grown = log.stat().st_size
    for number in range(3):  # one completes the checkpoint, the next begins the log again
        with engines.exclusive.begin() as writer:
            writer.execute(settings.insert(), {"name": f"small{number}", "value": ""})
    assert grown > 2**22 > 2**20 > log.stat().st_size
    engines.dispose()


def test_an_unknown_failure_of_a_statement_shows_no_values(engines):
    row = settings.insert().values(name="x", value="whsec_abc")
    with engines.writer.begin() as connection:
        connection.execute(row)
    with pytest.raises(IntegrityError) as failed, engines.writer.begin() as connection:
        connection.execute(row)
    assert "whsec_abc" not in str(failed.value)


@pytest.mark.parametrize("password", ["p@ss-word", "p/a@ss-word", "p?@ss-word", "p#@ss-word"])
def test_a_password_with_an_at_sign_is_refused_and_not_shown(password, tmp_path):
    with pytest.raises(ValueError, match="@ is written %40") as refused:
        url_of(f"postgresql://tessera:{password}@host/x", tmp_path)
    assert "ss-word" not in str(refused.value)
    assert str(url_of("postgresql://me:p%40ss@host/x", tmp_path).host) == "host"
