"""The first tables: collections, changes, items with their parts, settings."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

IDENTIFIER = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the tables, and the secret that signs cursors."""
    settings = op.create_table(
        "settings",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    _collections()
    _items()
    _of_items()
    initial = {"layout": "2", "secret": secrets.token_hex(32)}
    op.bulk_insert(settings, [{"name": name, "value": value} for name, value in initial.items()])


def _collections() -> None:
    op.create_table(
        "collections",
        sa.Column("key", sa.Integer, primary_key=True),
        sa.Column("token", sa.String, nullable=False),
        sa.Column("name", IDENTIFIER, unique=True),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("dimension", sa.Integer, nullable=False),
        sa.Column("score", sa.String, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("floor", sa.Integer, nullable=False),
        sa.Column("replaces", sa.Integer, _to_collection(), unique=True),
        sa.Column("copied", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "changes",
        _collection(),
        sa.Column("revision", sa.Integer, primary_key=True),
        sa.Column("mark", sa.String, nullable=False),
    )
    op.create_table(
        "retired",
        _collection(),
        sa.Column("revision", sa.Integer, primary_key=True),
        sa.Column("was", sa.Integer, nullable=False),
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("picture", sa.String),
    )
    op.create_index("retired_by_picture", "retired", ["picture"])


def _items() -> None:
    op.create_table(
        "items",
        _collection(),
        sa.Column("revision", sa.Integer, primary_key=True),
        sa.Column("id", IDENTIFIER, nullable=False),
        sa.Column("bucket", sa.Integer, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("source", sa.Text),
        sa.Column("stamp", sa.Text),
        sa.UniqueConstraint("collection", "id"),
    )
    if op.get_bind().dialect.name == "postgresql":
        # Paths may be longer than an entry of a B-tree.
        op.create_index("items_by_hash", "items", ["source"], postgresql_using="hash")
    else:
        op.create_index("items_by_source", "items", ["collection", "source"])


def _of_items() -> None:
    op.create_table(
        "pictures",
        *_item(),
        sa.Column("width", sa.Integer, nullable=False),
        sa.Column("height", sa.Integer, nullable=False),
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        _refers_to_item(),
    )
    op.create_index("pictures_by_name", "pictures", ["name"])
    op.create_table(
        "bags",
        *_item(),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("text", sa.Text),
        sa.Column("details", sa.LargeBinary, nullable=False),
        sa.Column("vectors", sa.LargeBinary, nullable=False),
        _refers_to_item(),
    )
    op.create_table(
        "facets",
        *_item(),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, primary_key=True),
        _refers_to_item(),
    )
    op.create_index("facets_by_value", "facets", ["collection", "key", "value", "revision"])


def _collection() -> sa.Column[int]:
    return sa.Column("collection", sa.Integer, _to_collection(), primary_key=True)


def _to_collection() -> sa.ForeignKey:
    return sa.ForeignKey("collections.key", ondelete="CASCADE")


def _item() -> tuple[sa.Column[int], sa.Column[int]]:
    return (
        sa.Column("collection", sa.Integer, primary_key=True),
        sa.Column("revision", sa.Integer, primary_key=True),
    )


def _refers_to_item() -> sa.ForeignKeyConstraint:
    item = ["items.collection", "items.revision"]
    return sa.ForeignKeyConstraint(["collection", "revision"], item, ondelete="CASCADE")
