"""Data of METEOR 1.5, read from the installed package pycocoevalcap."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

# WordNet's rules of detachment (morphy(7WN)), in the order in which METEOR tries them.
DETACHMENTS = tuple(
    (ending, replacement)
    for ending, replacements in (
        *(("s", ("",)), ("ses", ("s",)), ("xes", ("x",)), ("zes", ("z",)), ("ches", ("ch",))),
        *(("shes", ("sh",)), ("men", ("man",)), ("ies", ("y",)), ("es", ("e", ""))),
        *(("ed", ("e", "")), ("ing", ("e", "")), ("er", ("", "e")), ("est", ("", "e"))),
    )
    for replacement in replacements
)
JAR, PARAPHRASES = "meteor-1.5.jar", "data/paraphrase-en.gz"

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Data:
    """Function words, WordNet's synsets and base forms, and paraphrases.

    paraphrases maps a phrase to its replacements.
    """

    function_words: frozenset[str]
    synsets: Mapping[str, frozenset[str]]
    bases: Mapping[str, tuple[str, ...]]
    paraphrases: Mapping[Phrase, Collection[Phrase]]

    def meanings(self, word: str) -> frozenset[str]:
        """The synsets of a word and of its base form."""
        bases = self.bases.get(word) or (self.base(word),)
        return frozenset().union(*(self.synsets.get(form, frozenset()) for form in (word, *bases)))

    def base(self, word: str) -> str:
        """Cut off a word's regular ending, if WordNet has the base form."""
        if word.endswith("ss") or len(word) <= 2:
            return word
        forms = (
            word.removesuffix(ending) + replacement
            for ending, replacement in DETACHMENTS
            if word.endswith(ending)
        )
        return next((form for form in forms if form in self.synsets), word)


def read(package: Path, words: Collection[str]) -> Data:
    """Read the data of a package's folder.

    Paraphrases are made of `words` alone.
    """
    with ZipFile(package / JAR) as jar:
        lines = {
            name: jar.read(f"{folder}/english.{name}").decode().splitlines()
            for folder, name in (
                ("function", "words"),
                ("synonym", "synsets"),
                ("synonym", "exceptions"),
            )
        }
    return Data(
        frozenset(lines["words"]),
        {word: frozenset(row.split()) for word, row in pair_lines(lines["synsets"])},
        group_bases(pair_lines(lines["exceptions"])),
        read_paraphrases(package / PARAPHRASES, frozenset(words)),
    )


def pair_lines(lines: list[str]) -> Iterable[tuple[str, str]]:
    """Each line with the one after it, taken two at a time."""
    return zip(lines[::2], lines[1::2], strict=True)


def group_bases(rows: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Group the bases of irregular forms.

    Rows have a base and forms.
    """
    bases = defaultdict[str, tuple[str, ...]](tuple)
    for base, forms in rows:
        for form in forms.split():
            bases[form] += (base,)
    return dict(bases)


def read_paraphrases(file: Path, words: frozenset[str]) -> dict[Phrase, set[Phrase]]:
    """Read phrases of known words and their replacements.

    The file has three lines for each pair: a probability and two phrases.
    """
    replacements = defaultdict[Phrase, set[Phrase]](set)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for _ in lines:
            phrase, paraphrase = next(lines).split(), next(lines)
            if words.issuperset(phrase) and words.issuperset(paraphrase.split()):
                replacements[tuple(phrase)].add(tuple(paraphrase.split()))
    return dict(replacements)
