"""Checksums of items and their bags, null in older rows; a counter of commits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column, empty, as filling it reads all vectors; count commits from 0."""
    op.add_column("items", sa.Column("checksums", sa.LargeBinary))
    op.execute(
        "INSERT INTO settings (name, value) SELECT 'commits', '0' "
        "WHERE NOT EXISTS (SELECT 1 FROM settings WHERE name = 'commits')"
    )
