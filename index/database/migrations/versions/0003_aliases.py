"""Aliases: other names of collections."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

IDENTIFIER = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "aliases",
        sa.Column("name", IDENTIFIER, primary_key=True),
        sa.Column(
            "collection",
            sa.Integer,
            sa.ForeignKey("collections.key", ondelete="CASCADE"),
            nullable=False,
        ),
    )
    op.create_index("aliases_by_collection", "aliases", ["collection"])
