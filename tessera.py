"""The command `tessera`: the commands of search and of training together."""

from __future__ import annotations

from app.cli import app as search
from training.cli import app as training


def main() -> None:
    """Run the command line."""
    search.registered_commands += training.registered_commands
    search()


if __name__ == "__main__":
    main()
