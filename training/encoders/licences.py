"""Licences of pretrained encoders: what a folder says of its own, and who may not use it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import srsly

from models.encoders.source import layout

# Names that say whose weights these are, and what their owners allow. As published in 2025.
RESTRICTED = {
    "mobileclip": "MobileCLIP's weights are for research only (Apple ML Research licence)",
    "metaclip": "MetaCLIP's weights are for non-commercial use only (CC-BY-NC-4.0)",
    "jina-clip": "jina-clip-v2's weights are for non-commercial use only (CC-BY-NC-4.0)",
}
UNCLEAR = ("other", "unknown")


@dataclass(frozen=True, slots=True)
class Licence:
    """What a folder says of its licence, empty if nothing, and what is to be warned of."""

    name: str
    warnings: tuple[str, ...]


def find_licence(folder: Path, name: str) -> Licence:
    """The licence of a folder of weights that is known by a name, such as a hub's id."""
    licence = read_licence(folder)
    called = " ".join((name, folder.name, str(layout(folder).config().get("_name_or_path", ""))))
    return Licence(licence, list_warnings(licence, called.lower()))


def list_warnings(licence: str, called: str) -> tuple[str, ...]:
    """What a person should know before using weights of a licence and of lower-case names."""
    messages = [text for name, text in RESTRICTED.items() if name in called]
    if "-nc" in licence.lower() and not messages:
        messages.append(f"the licence {licence} allows non-commercial use only")
    if not licence:
        messages.append("the folder does not say under which licence its weights are")
    elif licence.lower() in UNCLEAR:
        messages.append(f"the folder calls its licence {licence!r}: read it before you rely on it")
    return tuple(messages)


def read_licence(folder: Path) -> str:
    """The licence in the front matter of a folder's README.md; empty where there is none."""
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
