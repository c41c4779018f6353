"""The command `tessera`: the commands of search and of training together."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Run the command line."""
    if os.getpid() == 1:  # of a container: for it alone the kernel has no default of SIGTERM
        signal.signal(signal.SIGTERM, lambda number, _: os._exit(128 + number))
    from app.cli import app as search
    from training.cli import app as training

    search.registered_commands += training.registered_commands
    search()


if __name__ == "__main__":
    main()
