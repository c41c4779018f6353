"""Catalogs with older tables: each migration undone by statements."""

from __future__ import annotations

from sqlalchemy import Connection, text

UNDONE = {
    "0004": ("ALTER TABLE items DROP COLUMN checksums",),
    "0003": (
        "CREATE TABLE older (collection INTEGER, revision INTEGER, width INTEGER NOT NULL, "
        "height INTEGER NOT NULL, digest VARCHAR NOT NULL, name VARCHAR NOT NULL, "
        "PRIMARY KEY (collection, revision), FOREIGN KEY (collection, revision) "
        "REFERENCES items (collection, revision) ON DELETE CASCADE)",
        "INSERT INTO older SELECT collection, revision, width, height, digest, name FROM pictures "
        "WHERE position = -1",
        "DROP TABLE pictures",
        "ALTER TABLE older RENAME TO pictures",
        "CREATE INDEX pictures_by_name ON pictures (name)",
        "ALTER TABLE retired ADD COLUMN picture VARCHAR",
        "UPDATE retired SET picture = (SELECT max(name) FROM retired_pictures AS own WHERE "
        "own.collection = retired.collection AND own.revision = retired.revision)",
        "CREATE INDEX retired_by_picture ON retired (picture)",
        "DROP TABLE retired_pictures",
    ),
    "0002": ("DROP TABLE aliases",),
    "0001": (
        "ALTER TABLE changes DROP COLUMN kept",
        "UPDATE settings SET value = '2' WHERE name = 'layout'",
    ),
}  # statements that lead to a version from the one after it


def age(connection: Connection, version: str) -> None:
    """Turn the tables into a former version's.

    For items of one photo.

    ValueError for a version that is not in UNDONE.
    """
    if version not in UNDONE:
        raise ValueError(f"no way back to {version}: UNDONE has {', '.join(UNDONE)}")
    for older, statements in UNDONE.items():
        for statement in statements:
            connection.execute(text(statement))
        if older == version:
            break
    update = text("UPDATE alembic_version SET version_num = :version")
    connection.execute(update, {"version": version})
