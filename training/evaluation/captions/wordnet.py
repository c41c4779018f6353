"""Nouns of WordNet 3.0: senses, broader terms, things and persons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from training.language.class_names import Synset, read_nouns

FOLDER = Path("/usr/share/wordnet")
PERSONS = ("person", "social group")
PLURALS = {"people": "person"}  # in WordNet "people" is a word of its own: a nation


class WordNet:
    """The nouns of WordNet's index.noun and data.noun; LookupError without them.

    A noun's meaning is its first sense, the most frequent one.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self.synsets: Mapping[int, Synset] = dict(read_nouns(folder / "data.noun"))
        self.index = dict(read_index(folder / "index.noun"))
        self.ancestors: dict[int, frozenset[int]] = {}

    @cached_property
    def things(self) -> int:
        """The synset of physical things."""
        return self.index["physical entity"][0]

    def senses(self, noun: str) -> tuple[int, ...]:
        """Return the synsets of a lower-case singular noun, the most frequent first."""
        return self.index.get(PLURALS.get(noun, noun), ())

    def broader(self, noun: str) -> frozenset[int]:
        """Return a noun's first synset and all broader ones; empty if unknown."""
        senses = self.senses(noun)
        return self.above(senses[0]) if senses else frozenset()

    def above(self, synset: int) -> frozenset[int]:
        """Return a synset and all broader ones."""
        if synset not in self.ancestors:
            ancestors = (self.above(broader) for broader in self.synsets[synset].broader)
            self.ancestors[synset] = frozenset({synset}).union(*ancestors)
        return self.ancestors[synset]

    def is_thing(self, noun: str) -> bool:
        """Return whether a photo can show a noun.

        Events, groups and qualities are none.
        """
        return self.things in self.broader(noun)

    def is_person(self, noun: str) -> bool:
        """Return whether a noun names a person or a group of persons."""
        return self.is_a(noun, PERSONS)

    def is_a(self, noun: str, terms: Iterable[str]) -> bool:
        """Return whether a noun names something under one of WordNet's terms."""
        return not self.broader(noun).isdisjoint(self.index[term][0] for term in terms)


def read_index(file: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The nouns of WordNet's index.noun and their synsets (wndb(5WN))."""
    for text in file.read_text("utf-8").splitlines():
        if not text.startswith("  "):  # the licence stands above the nouns
            parts = text.split()
            yield parts[0].replace("_", " "), tuple(map(int, parts[-int(parts[2]) :]))
