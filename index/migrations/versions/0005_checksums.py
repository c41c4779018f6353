"""Checksums of items and their bags; those of older rows are null until a follower fills them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column, which takes no time: to fill it reads all vectors."""
    op.add_column("items", sa.Column("checksums", sa.LargeBinary))
