"""Patterns of files and folders left out of imports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

IGNORE_FILE = ".tesseraignore"  # in any folder; its patterns hold below it
LONGEST_FILE = 2**20  # bytes of patterns


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns of .gitignore with their folders, the strongest first.

    >>> patterns = Patterns().add("", ["*.png"]).add("b/", ["!a.png"])
    >>> [patterns.exclude(path) for path in ("a.png", "b/a.png", "b/c.png", "a.jpg")]
    [True, False, True, False]
    """

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def add(self, folder: str, lines: Sequence[str]) -> Patterns:
        """Add patterns of a folder below; ValueError for an invalid one."""
        return Patterns(((folder, GitIgnoreSpec.from_lines(lines)), *self.specs))

    def exclude(self, path: str) -> bool:
        """Return whether a path is left out; folders end with a slash."""
        for folder, spec in self.specs:
            if path.startswith(folder):
                verdict = spec.check_file(path.removeprefix(folder)).include
                if verdict is not None:
                    return verdict
        return False


def read_patterns(content: bytes) -> list[str]:
    """Split a file of patterns into lines; ValueError if too long."""
    if len(content) > LONGEST_FILE:
        raise ValueError(f"it has more than {LONGEST_FILE:,} bytes")
    return content.decode("utf-8-sig", "backslashreplace").splitlines()
