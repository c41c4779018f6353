"""The follower of a data folder, with logs like the service's."""

from __future__ import annotations

import logging.config

from app.settings import Settings
from app.telemetry import logs
from index.segments import follower_process as following


def main() -> None:
    """Follow the folder on standard input, see index.segments.follower_process."""
    logging.config.dictConfig(logs.configuration(Settings().log_style))
    following.main()


if __name__ == "__main__":
    main()
