"""Spelling: unknown words of a query, corrected to the nearest known ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from models.text.lexicon import (
    is_compound,
    is_function_word,
    is_latin,
    known_words,
    plain,
    without_accents,
)
from models.text.parsing import parse
from models.text.words import minilm_tokenizer

LEAST_LETTERS = 4  # of a word that is corrected: shorter ones are near too many others
MOST_LETTERS = 40  # longer than every known word, and two edits
LONG = 7  # letters from which two edits are corrected, else one
MOST_CORRECTED = 10  # words of a text
OTHER_START = 1.0  # how many e-fold rarer a word with the same first letter may be
RARE = 30_000  # the rank of words that MiniLM has in pieces; and of "with", which few look for


@dataclass(frozen=True, slots=True)
class Correction:
    """A word text[start:end] as it was typed, and the known word that it is taken for."""

    start: int
    end: int
    typed: str
    known: str

    @property
    def note(self) -> str:
        """What a person should know."""
        return f'"{self.typed}" is taken for "{self.known}".'


@dataclass(frozen=True, slots=True)
class KnownWords:
    """Words to correct to, and how rare each is, as the logarithm of its rank."""

    words: tuple[str, ...]
    rarities: Mapping[str, float]


@cache
def vocabulary() -> KnownWords:
    """English words; those that MiniLM has whole come in the order of their frequency."""
    ranks = {
        word: rank
        for word, rank in minilm_tokenizer().get_vocab().items()
        if word.isascii() and word.isalpha() and len(word) >= LEAST_LETTERS - 1
    }
    others = (word for word in known_words() if len(word) >= LEAST_LETTERS - 1)
    words = sorted({*ranks, *others})
    rarities = {
        word: log(RARE if is_function_word(word) else ranks.get(word, RARE)) for word in words
    }
    return KnownWords(tuple(words), rarities)


def correct(
    text: str, doubtful: Collection[str], preferred: Collection[str] = ()
) -> tuple[str, tuple[Correction, ...]]:
    """A text with the doubtful words of it corrected, as far as known ones are near.

    `doubtful` are words of the text as they stand there, a few of which are looked at; `preferred`
    are words that are meant rather than others. ValueError for a text without words, or with too
    many.
    """
    likely = list(dict.fromkeys(word for word in doubtful if may_be_misspelt(word)))
    plain_words = [without_accents(plain(word)) for word in likely[:MOST_CORRECTED]]
    known_of = find_nearest(plain_words, preferred)
    corrected = dict(zip(likely, known_of, strict=False))
    spellings = [
        Correction(word.span.start, word.span.end, word.text, known)
        for word in (parse(text).words if corrected else ())
        if (known := corrected.get(word.text)) is not None
    ]
    for spelling in reversed(spellings):
        text = text[: spelling.start] + spelling.known + text[spelling.end :]
    return text, tuple(spellings)


def may_be_misspelt(word: str) -> bool:
    """Return whether a word has as many letters as known ones, and nothing else."""
    return LEAST_LETTERS <= len(word) <= MOST_LETTERS and word.isalpha() and is_latin(word)


def find_nearest(misspelt: Sequence[str], preferred: Collection[str] = ()) -> list[str | None]:
    """The known word that each may be meant for: one edit away, or two from a long word.

    A compound is one edit away from it at most. A preferred word comes first, of those with the
    fewest edits, then one with the same letters in another order, then the most frequent.

    >>> find_nearest(["bicylce", "umberella", "qwrtzx"])
    ['bicycle', 'umbrella', None]
    """
    if not misspelt:
        return []
    words, rarities = vocabulary().words, vocabulary().rarities
    distances = process.cdist(misspelt, words, scorer=OSA.distance, score_cutoff=2, dtype=np.uint8)
    nearest: list[str | None] = []
    for word, row in zip(misspelt, distances, strict=True):
        letters, most = sorted(word), 2 if len(word) >= LONG and not is_compound(word) else 1
        near = [
            (
                row[at],
                words[at] not in preferred,
                sorted(words[at]) != letters,
                unlikeliness(word, words[at], rarities),
            )
            for at in np.flatnonzero((row > 0) & (row <= most))
        ]
        nearest.append(min(near)[-1][-1] if near else None)
    return nearest


def unlikeliness(word: str, known: str, rarities: Mapping[str, float]) -> tuple[float, str]:
    """A key by which the likeliest of equally near words comes first."""
    return OTHER_START * (known[0] != word[0]) + rarities[known], known
