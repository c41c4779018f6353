"""The map: docs/map.md, a line for each file, made of the files' first lines by `make map`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAP = ROOT / "docs" / "map.md"
ROOMS = {
    "": "The command, and this map",
    "models": "`models/`: torch, and numba for the kernels of scores; no HTTP, FAISS or database",
    "index": "`index/`: bags in, hits out",
    "training": "`training/`: offline",
    "app": "`app/`: the web",
    "client": "`client/`: the package `tessera-client`; imports no room but to run in one process",
    "benchmarks": "`benchmarks/`: one script for each published number",
}
TESTS = """
## `tests/`: mirrors the rooms

`tests/app`, `tests/client`, `tests/index`, `tests/models` and `tests/training` have a file for
each file that they test; `tests/test_docs.py` keeps [settings.md](settings.md),
[commands.md](commands.md) and [training.md](training.md) complete and runs the examples of
docstrings.
"""
OPENING = re.compile(r'^(?:"""|// |/\* |# )')
CLOSING = re.compile(r'(?:"""| \*/)$')
SUFFIXES = (".py", ".js", ".css", ".toml", ".cfg", ".md", ".yaml", ".yml")


def subject(file: Path) -> str:
    """What a file's first sentence says that it is about; empty if it does not say."""
    said: list[str] = []
    for line in file.read_text("utf-8").splitlines()[:4]:
        if not (OPENING.match(line) or (said and not line.startswith(("#", "//")))):
            break
        said.append(CLOSING.sub("", OPENING.sub("", line).strip()))
        if said[-1].endswith((".", "?")) or file.suffix in (".py", ".md") or line.endswith("*/"):
            break
    return re.sub(r"\.\s.*", ".", " ".join(said))


def rows() -> list[tuple[str, str]]:
    """The files of the rooms that say what they are about, by path."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - git is on the path
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    files = [ROOT / name for name in sorted(set(listed.stdout.splitlines()))]
    in_rooms = [file for file in files if file.is_file() and room(file) in ROOMS]
    described = [
        (file.relative_to(ROOT).as_posix(), subject(file))
        for file in in_rooms
        if file.suffix in SUFFIXES and file.name not in ("pyproject.toml", "README.md")
    ]
    return [(name, text) for name, text in described if text]


def room(file: Path) -> str:
    """The room that a file lies in: the command at the top and this script have none."""
    parts = file.relative_to(ROOT).parts
    alone = parts in (("tessera.py",), ("docs", "make_map.py"))
    return "" if alone else parts[0] if len(parts) > 1 else "-"


def written() -> str:
    """The map as Markdown."""
    text = (
        "# The map\n\nImports go one way: `app | training` → `index` → `models`. The first line of "
        "each file says what it is about; `make map` writes this page from them.\n"
    )
    lines = rows()
    for name, title in ROOMS.items():
        text += f"\n## {title}\n\n| file | its subject |\n|---|---|\n"
        here = [line for line in lines if room(ROOT / line[0]) == name]
        text += "".join(f"| `{path}` | {about} |\n" for path, about in here)
    return text + TESTS


if __name__ == "__main__":
    MAP.write_text(written(), "utf-8")
