"""The shipped names of ImageNet's classes, from WordNet."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HEADER = (
    "# The classes of ImageNet (ILSVRC 2012) in the order of their classifiers: names > broader "
    "terms, the nearest first.\n# From WordNet 3.0, Copyright 2006 by Princeton University. All "
    "rights reserved. Licence: models/pretrained/words/classes.md.\n"
)
# torchvision tells two classes of one name apart by a word that WordNet's name lacks.
RENAMED = {"crane bird": "crane", "maillot tank suit": "tank suit"}

# Terms so broad that they say nothing of what a photo shows.
TOO_BROAD = frozenset(
    {
        "entity",
        "physical entity",
        "object",
        "physical object",
        "whole",
        "unit",
        "artifact",
        "artefact",
        "abstraction",
        "abstract entity",
        "matter",
        "instrumentality",
        "instrumentation",
        "thing",
        "organism",
        "being",
        "living thing",
        "animate thing",
        "chordate",
        "vertebrate",
        "craniate",
        "placental",
        "placental mammal",
        "eutherian",
        "eutherian mammal",
        "causal agent",
        "cause",
        "causal agency",
        "conveyance",
        "part",
        "portion",
        "substance",
        "relation",
        "psychological feature",
        "attribute",
        "covering",
        "measure",
        "quantity",
        "amount",
    }
)


@dataclass(frozen=True, slots=True)
class Synset:
    """A noun's synonyms, and the offsets of its broader terms."""

    names: tuple[str, ...]
    broader: tuple[int, ...]


def write(wordnet: Path, out: Path) -> int:
    """Write the classes' names, a line each, and count them."""
    from torchvision.models._meta import _IMAGENET_CATEGORIES as CATEGORIES

    nouns = dict(read_nouns(wordnet / "data.noun"))
    offsets = synsets_of_classes([RENAMED.get(name, name) for name in CATEGORIES], nouns)
    lines = [line(levels(offset, nouns)) for offset in offsets]
    out.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    return len(lines)


def read_nouns(file: Path) -> Iterator[tuple[int, Synset]]:
    """The synsets of WordNet's data.noun by their offsets (wndb(5WN))."""
    if not file.is_file():
        raise LookupError(f"no {file}; on Debian: apt install wordnet-base")
    for text in file.read_text("utf-8").splitlines():
        if text.startswith("  "):  # the licence stands above the synsets
            continue
        parts = text.split(" | ")[0].split()
        count = int(parts[3], 16)
        names = tuple(part.replace("_", " ") for part in parts[4 : 4 + 2 * count : 2])
        pointers = parts[5 + 2 * count :]
        broader = tuple(
            int(pointers[at + 1])
            for at in range(0, 4 * int(parts[4 + 2 * count]), 4)
            if pointers[at] in ("@", "@i")
        )
        yield int(parts[0]), Synset(names, broader)


def synsets_of_classes(classes: Sequence[str], nouns: Mapping[int, Synset]) -> list[int]:
    """Find each class's synset by name, in the offsets' order.

    A name may have many meanings; the longest increasing row of offsets picks one for each class.
    ValueError if a class is missing from the row.
    """
    meanings = defaultdict(list)
    for offset, noun in sorted(nouns.items(), reverse=True):
        for name in {letters(name) for name in noun.names}:
            meanings[letters(name)].append(offset)
    ends: list[int] = []  # the smallest last offset of a row of each length, and its node
    nodes: list[tuple[int, int | None]] = []
    places: list[int] = []
    for name in classes:
        for offset in meanings[letters(name)]:  # the largest first: one meaning of each class
            at = bisect_left(ends, offset)
            nodes.append((offset, places[at - 1] if at else None))
            ends[at : at + 1], places[at : at + 1] = [offset], [len(nodes) - 1]
    if len(ends) != len(classes):
        raise ValueError(f"WordNet has {len(ends)} of the {len(classes)} classes in their order")
    chosen, node = [], places[-1] if places else None
    while node is not None:
        offset, node = nodes[node]
        chosen.append(offset)
    return chosen[::-1]


def letters(name: str) -> str:
    """Strip case, spaces and marks off a name."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def levels(offset: int, nouns: Mapping[int, Synset]) -> list[list[str]]:
    """A synset's names, then broader terms by distance, each once."""
    by_distance = [list(nouns[offset].names)]
    used = {name.lower() for name in by_distance[0]}
    level, visited = [offset], {offset}
    while level:
        parents = dict.fromkeys(parent for synset in level for parent in nouns[synset].broader)
        level = [synset for synset in parents if synset not in visited]
        visited |= set(level)
        terms = dict.fromkeys(name for synset in level for name in nouns[synset].names)
        new_names = [name for name in terms if name.lower() not in used | TOO_BROAD]
        used |= {name.lower() for name in new_names}
        if new_names:
            by_distance.append(new_names)
    return by_distance


def line(names: Sequence[Sequence[str]]) -> str:
    """Levels as models.text.classes reads them."""
    return " > ".join("; ".join(level) for level in names)
