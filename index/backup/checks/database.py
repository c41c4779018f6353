"""Checks of the database: its file, its references, its collections' revisions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sqlalchemy import Engine, Table, func, select

from index.backup.checks.finding import RESTORE, CheckFinding, name_subject
from index.catalog.catalog import Catalog
from index.catalog.views import CatalogView
from index.database import curation, deleted_photos, setting_rows, webhook_rows
from index.database.errors import Damaged
from index.database.tables import changes, items, retired, settings
from index.items import Collection

MOST = 20  # findings of a kind: a damaged file may have thousands


def check_file(reader: Engine) -> Iterator[CheckFinding]:
    """Run SQLite's checks of its file; PostgreSQL checks pages and references itself."""
    if reader.dialect.name != "sqlite":
        return
    try:
        with reader.begin() as connection:
            wrong = connection.exec_driver_sql(f"PRAGMA integrity_check({MOST})").scalars().all()
            loose = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    except Damaged as damaged:
        wrong, loose = [str(damaged)], []
    for problem in wrong:
        if problem != "ok":
            yield CheckFinding("database", "file", f"{problem}; {RESTORE}")
    for table, row, parent, _ in loose[:MOST]:
        yield CheckFinding("database", table, f"row {row} has no row of {parent}; {RESTORE}")


def check_settings(catalog: Catalog) -> Iterator[CheckFinding]:
    """Check the rows of curation, webhooks and deleted photos; their repair deletes them."""
    with catalog.reader.begin() as connection:
        rows = connection.execute(select(settings.c.name, settings.c.value)).all()
    for name, value in rows:
        kind = _find_kind(name)
        try:
            if kind is not None:
                setting_rows.parse_strictly(value, kind)
        except ValueError as damage:
            problem = f"a row of {name.partition('/')[0]} is damaged ({damage})"
            yield CheckFinding("settings", name, problem, partial(_discard, catalog, name))


def _find_kind(name: str) -> type[object] | None:
    """Find the type of a setting's JSON; None for other settings."""
    if name.startswith(curation.PREFIX):
        return curation.SHAPES.get(name.rpartition("/")[2])
    kinds: dict[str, type[object]] = {
        webhook_rows.HOOKS: webhook_rows.Webhook,
        webhook_rows.DELIVERIES: webhook_rows.Delivery,
        deleted_photos.PREFIX: deleted_photos.DeletedPhoto,
    }
    return next((kind for begins, kind in kinds.items() if name.startswith(begins)), None)


def _discard(catalog: Catalog, name: str) -> None:
    with catalog.writer.begin() as connection:
        setting_rows.discard(connection, name)


def check_revisions(catalog: Catalog, collection: Collection) -> Iterator[CheckFinding]:
    """Check that a collection's revisions are consistent."""
    with catalog.reading(collection) as view:
        newest = max(_find_newest(view, table) for table in (items, retired, changes))
        unmarked = view.revision > 0 and view.mark(view.revision) is None
        revived = _find_revived(view)
    subject = name_subject(collection)
    if not max(newest, view.floor) <= view.revision:
        problem = f"it has change {newest} and forgot up to {view.floor}, but ends at"
        yield CheckFinding("revisions", subject, f"{problem} {view.revision}; {RESTORE}")
    if unmarked:
        yield CheckFinding("revisions", subject, f"change {view.revision} has no mark; {RESTORE}")
    if revived is not None:
        problem = "it counts as replaced or deleted and is there; put it again"
        yield CheckFinding("revisions", name_subject(collection, revived), problem)


def _find_newest(view: CatalogView, table: Table) -> int:
    column = table.c
    newest = select(func.max(column.revision)).where(column.collection == view.collection)
    return view.connection.execute(newest).scalar() or 0


def _find_revived(view: CatalogView) -> str | None:
    """Find an existing item that counts as retired; None without one."""
    current = select(items.c.revision).where(items.c.collection == view.collection)
    condition = retired.c.was.in_(current) & (retired.c.collection == view.collection)
    revived: str | None = view.connection.execute(
        select(retired.c.id).where(condition).limit(1)
    ).scalar()
    return revived
