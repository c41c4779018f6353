"""The documentation site: build/site, made of the repository's documents as they are."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "build" / "pages"
DOCUMENTS = ("*.md", "client*/*.md", "docs/**/*.md", "models/pretrained/**/*.md")
MARK = ROOT / "app" / "page" / "images" / "mark.svg"
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")


def list_documents() -> list[Path]:
    """List the documents, by path."""
    return sorted(file for pattern in DOCUMENTS for file in ROOT.glob(pattern))


def list_targets(document: Path) -> set[Path]:
    """List the files of the repository linked by a document."""
    links = LINK.findall(document.read_text("utf-8"))
    targets = {(document.parent / link).resolve() for link in links if "://" not in link}
    return {target for target in targets if target.is_file()}


def gather() -> None:
    """Link the documents, and their targets, under one folder."""
    shutil.rmtree(PAGES, ignore_errors=True)
    documents = list_documents()
    targets = {target for each in documents for target in list_targets(each)}
    for file in {MARK, *documents, *targets}:
        page = PAGES / file.relative_to(ROOT)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.symlink_to(file)


if __name__ == "__main__":
    gather()
    command = (Path(sys.executable).parent / "zensical", "build", "--strict")
    sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)  # noqa: S603 - our own
