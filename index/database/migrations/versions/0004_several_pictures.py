"""Several pictures of an item, each at the position of its bag."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Give each picture the position -1, and those of retired items a table of their own."""
    op.create_table(
        "anew",
        *_key(sa.Column("position", sa.Integer, primary_key=True)),
        sa.Column("width", sa.Integer, nullable=False),
        sa.Column("height", sa.Integer, nullable=False),
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        _refers_to("items"),
    )
    op.execute(
        "INSERT INTO anew (collection, revision, position, width, height, digest, name) "
        "SELECT collection, revision, -1, width, height, digest, name FROM pictures"
    )
    op.drop_table("pictures")  # no table refers to it
    op.rename_table("anew", "pictures")
    op.create_index("pictures_by_name", "pictures", ["name"])
    op.create_table(
        "retired_pictures",
        *_key(sa.Column("name", sa.String, primary_key=True)),
        _refers_to("retired"),
    )
    op.execute(
        "INSERT INTO retired_pictures (collection, revision, name) "
        "SELECT collection, revision, picture FROM retired WHERE picture IS NOT NULL"
    )
    op.create_index("retired_pictures_by_name", "retired_pictures", ["name"])
    op.drop_index("retired_by_picture", "retired")
    op.drop_column("retired", "picture")


def _key(last: sa.Column[int] | sa.Column[str]) -> tuple[sa.Column[int] | sa.Column[str], ...]:
    return (
        sa.Column("collection", sa.Integer, primary_key=True),
        sa.Column("revision", sa.Integer, primary_key=True),
        last,
    )


def _refers_to(table: str) -> sa.ForeignKeyConstraint:
    columns = ["collection", "revision"]
    targets = [f"{table}.{column}" for column in columns]
    return sa.ForeignKeyConstraint(columns, targets, ondelete="CASCADE")
