"""The notes of a release: the changelog's section of its version."""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parent.parent / "CHANGELOG.md"


def find_section(changelog: str, version: str | None) -> str:
    """Return the section of a version, or the newest.

    LookupError for a version without one.
    """
    sections = re.split(r"^## \[([^\]]+)\].*$", changelog, flags=re.MULTILINE)[1:]
    notes = dict(zip(sections[::2], sections[1::2], strict=True))
    if version is None:
        version = sections[0]
    if version not in notes:
        raise LookupError(f"the changelog has no section of {version}, but of {', '.join(notes)}")
    return notes[version].strip() + "\n"


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else None
    sys.stdout.write(find_section(CHANGELOG.read_text("utf-8"), wanted))
