"""Every released layout of the tables is migrated without loss."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text

from index.backup import archive as archives
from index.backup.snapshots import restore
from index.catalog.catalog import Catalog
from index.catalog.pictures import FolderPictures, name_of
from index.database import migrations
from index.database.engines import connect, migrate, url_of
from index.database.storage import Storage
from index.database.tables import schema
from tests.kills.aging import UNDONE, age

LAYOUTS = sorted((Path(__file__).parent / "layouts").glob("*.sql"))
VERSIONS = sorted((Path(migrations.__file__).parent / "versions").glob("[0-9]*.py"))


def restored(layout: Path, folder: Path) -> Path:
    """A data folder with a catalog of a file's statements."""
    folder.mkdir(exist_ok=True)
    with sqlite3.connect(folder / "catalog.sqlite") as connection:
        connection.executescript(layout.read_text("utf-8"))
    connection.close()
    for item, version in (("b/1", 0), ("a", 1)):
        jpeg = f"{item} {version}".encode()
        FolderPictures(folder / "pictures").put({name_of(jpeg): jpeg})
    return folder


@pytest.mark.parametrize("layout", LAYOUTS, ids=[one.stem for one in LAYOUTS])
def test_released_layout_is_migrated_without_loss(layout, tmp_path):
    folder = restored(layout, tmp_path)
    catalog = Catalog.in_folder(folder)
    home = catalog.names.find("default")
    assert {item.id: item.metadata["version"] for item in catalog.list_items(home)} == {
        "a": 1,
        "b/1": 0,
    }
    entry = catalog.entry(home, "a")
    assert (entry.pictures[0].jpeg, entry.stamp) == (b"a 1", "12 34")
    assert entry.bags[0].vectors.tolist() == [[1.0, 1.0]]
    with catalog.reading(home) as view:
        assert (view.revision, sorted(view.list_retired(0).tolist())) == (5, [1, 3])
        assert view.mark(5) is not None
    assert catalog.replace(home, entry)[0] == 6
    with catalog.reader.begin() as connection:
        assert migrations.version_of(connection) == migrations.newest()
    catalog.close()


@pytest.mark.parametrize("layout", LAYOUTS, ids=[one.stem for one in LAYOUTS])
def test_snapshot_of_a_released_layout_is_restored(layout, tmp_path):
    old = restored(layout, tmp_path / "old")
    store = FolderPictures(old / "pictures")
    held = [(name, store.get(name)) for name in store.names()]
    head = archives.ArchiveHead(archives.now(), (), len(held))
    archives.write(tmp_path / "old.tar", head, old / "catalog.sqlite", held)
    with closing(Catalog.in_folder(tmp_path / "new")) as catalog:
        restore(catalog, tmp_path / "old.tar", tmp_path / "new", lambda *_: None)
        home = catalog.names.find("default")
        assert [item.id for item in catalog.list_items(home)] == ["a", "b/1"]
        assert catalog.entry(home, "a").pictures[0].jpeg == b"a 1"
        assert catalog.replace(home, catalog.entry(home, "a"))[0] == 6


def test_there_is_a_file_for_the_first_layout():
    assert "layout-2" in [one.stem for one in LAYOUTS]


def structure(url):
    """Columns, indexes and keys of every table but alembic's."""
    engine = create_engine(url)
    found = inspect(engine)
    tables = {
        name: (
            [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(name)],
            sorted((i["name"], tuple(i["column_names"])) for i in found.get_indexes(name)),
            found.get_pk_constraint(name)["constrained_columns"],
            sorted(
                (tuple(k["constrained_columns"]), k["referred_table"], k["options"].get("ondelete"))
                for k in found.get_foreign_keys(name)
            ),
            sorted(tuple(u["column_names"]) for u in found.get_unique_constraints(name)),
        )
        for name in found.get_table_names()
        if name != "alembic_version"
    }
    engine.dispose()
    return tables


def test_migrations_make_the_tables_that_the_code_uses(database, tmp_path, request):
    url = url_of(database, tmp_path)
    connect(url).dispose()
    migrated = structure(url)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
        schema.drop_all(connection)
        schema.create_all(connection)
    engine.dispose()
    assert structure(url) == migrated


def test_old_tables_in_postgresql_wait_for_the_command(postgresql, tmp_path, monkeypatch):
    with postgresql.database() as database:
        url = url_of(database, tmp_path)
        monkeypatch.setattr(migrations, "newest", lambda: "0001")
        connect(url).dispose()
        monkeypatch.undo()
        with pytest.raises(ValueError, match=r"have version 0001.*run `tessera migrate` once"):
            connect(url)
        assert migrate(Storage(tmp_path, database)) == ("0001", migrations.newest())
        connect(url).dispose()


def test_newer_tables_are_refused(database, tmp_path):
    url = url_of(database, tmp_path)
    engines = connect(url)
    with engines.writer.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engines.dispose()
    for opens in (lambda: connect(url), lambda: migrate(Storage(tmp_path, database))):
        with pytest.raises(ValueError, match=r"version 9999, which a newer version of Tessera"):
            opens()


def test_tables_from_before_the_first_layout_are_refused(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.sqlite'}"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE collections (key INTEGER)")
    engine.dispose()
    with pytest.raises(ValueError, match=r"layout 1, which cannot be migrated"):
        connect(url)


def test_version_from_before_migrations_refuses_what_was_migrated(tmp_path):
    folder = restored(LAYOUTS[0], tmp_path)
    Catalog.in_folder(folder).close()
    with sqlite3.connect(folder / "catalog.sqlite") as connection:
        layout = connection.execute("SELECT value FROM settings WHERE name = 'layout'").fetchone()
    connection.close()
    assert int(layout[0]) > migrations.FIRST_LAYOUT


def test_tables_that_rounds_of_kills_make_older_are_migrated_back(database, entry, tmp_path):
    url, storage = url_of(database, tmp_path), Storage(tmp_path, database)
    with closing(Catalog(storage)) as catalog:
        home = catalog.names.make("default", fingerprint="m", dimension=8, score="sum_of_max")
        kept = entry("a")
        for put in (entry("a"), kept, entry("b", photos=0)):
            catalog.replace(home, put)
    made = structure(url)
    assert sorted([*UNDONE, migrations.newest()]) == [path.stem[:4] for path in VERSIONS]
    for version in UNDONE:
        engine = create_engine(url)
        with engine.begin() as connection:
            age(connection, version)
        engine.dispose()
        assert migrate(storage) == (version, migrations.newest())
        assert structure(url) == made
        with closing(Catalog(storage)) as catalog:
            found = catalog.entry(home, "a")
            assert found.pictures == kept.pictures
            with catalog.reading(home) as view:
                assert view.list_retired(0).tolist() == [1]
            names = "SELECT name FROM retired_pictures"
            with catalog.reader.begin() as connection:
                assert connection.execute(text(names)).scalars().all() == [name_of(b"jpeg")]


def test_versions_are_the_files_that_alembic_reads_in_a_row() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations.FOLDER))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    assert [script.revision for script in scripts.walk_revisions()] == [
        *reversed(migrations.versions())
    ]
    assert scripts.get_current_head() == migrations.newest()
