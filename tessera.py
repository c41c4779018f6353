"""The command `tessera`: the commands of search and of training together."""

from __future__ import annotations

import app.cli
import training.cli


def main() -> None:
    """Run the command line."""
    command = app.cli.app
    command.registered_commands += training.cli.app.registered_commands
    command()


if __name__ == "__main__":
    main()
