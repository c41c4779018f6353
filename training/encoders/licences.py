"""Licences of pretrained encoders, as their folders state them, and restrictions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import srsly

from models.encoders.source import layout

# Names of weights, and the use that their owners allow, as published in 2025.
RESTRICTED = {
    "mobileclip": "MobileCLIP's weights are for research only (Apple ML Research licence)",
    "metaclip": "MetaCLIP's weights are for non-commercial use only (CC-BY-NC-4.0)",
    "jina-clip": "jina-clip-v2's weights are for non-commercial use only (CC-BY-NC-4.0)",
}
UNCLEAR = ("other", "unknown")


@dataclass(frozen=True, slots=True)
class Licence:
    """A folder's licence, or an empty one, with warnings."""

    name: str
    warnings: tuple[str, ...]


def find_licence(folder: Path, name: str) -> Licence:
    """Find the licence of a folder of weights.

    Its name is such as a hub's id.
    """
    licence = read_licence(folder)
    called = " ".join((name, folder.name, str(layout(folder).config().get("_name_or_path", ""))))
    return Licence(licence, list_warnings(licence, called.lower()))


def list_warnings(licence: str, called: str) -> tuple[str, ...]:
    """List warnings for weights of a licence and of lower-case names."""
    messages = [text for name, text in RESTRICTED.items() if name in called]
    if "-nc" in licence.lower() and not messages:
        messages.append(f"the licence {licence} allows non-commercial use only")
    if not licence:
        messages.append("the folder does not say under which licence its weights are")
    elif licence.lower() in UNCLEAR:
        messages.append(f"the folder calls its licence {licence!r}: read it before you rely on it")
    return tuple(messages)


def read_licence(folder: Path) -> str:
    """Read the licence in the front matter of a folder's README.md, or ""."""
    readme = folder / "README.md"
    if not readme.is_file():
        return ""
    _, mark, remainder = readme.read_text(encoding="utf-8", errors="replace").partition("---\n")
    front, end, _ = remainder.partition("\n---")
    if not (mark and end):
        return ""
    try:
        card = srsly.yaml_loads(front)
    except ValueError:
        return ""
    if not isinstance(card, dict):
        return ""
    return str(card.get("license_name") or card.get("license") or "")
