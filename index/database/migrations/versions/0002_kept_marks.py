"""A column of times until which marks are kept for segments on any host."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; a Tessera from before migrations reads the layout, and refuses this one."""
    op.add_column("changes", sa.Column("kept", sa.Integer))
    op.execute("UPDATE settings SET value = '3' WHERE name = 'layout'")
