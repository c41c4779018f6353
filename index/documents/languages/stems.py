"""Stems of words: without endings, irregular plurals as their singular."""

from __future__ import annotations

from functools import lru_cache

import snowballstemmer

from index.documents.characters import LONGEST_WORD
from models.text.lexicon import known_words

STEMMER = snowballstemmer.stemmer("english")
# Plurals that the stemmer leaves apart from their singular, also as the end of a compound.
ENDS = {
    "men": "man",
    "women": "woman",
    "children": "child",
    "feet": "foot",
    "teeth": "tooth",
    "geese": "goose",
    "mice": "mouse",
    "knives": "knife",
    "shelves": "shelf",
    "wolves": "wolf",
}
ALONE = {
    "buses": "bus",
    "calves": "calf",
    "dice": "die",
    "elves": "elf",
    "gases": "gas",
    "halves": "half",
    "hooves": "hoof",
    "leaves": "leaf",
    "lenses": "lens",
    "lice": "louse",
    "loaves": "loaf",
    "oxen": "ox",
    "quizzes": "quiz",
    "scarves": "scarf",
    "thieves": "thief",
    "wives": "wife",
}
PLURALS = ENDS | ALONE
LEAST_PART = 3  # letters of a known word before the end of a compound: "snowmen", and not "omen"


def stem(folded: str) -> str:
    """A folded word without its ending, for comparison.

    One with digits stays as it is, and so does one that is longer than words are.

    >>> [stem(word) for word in ("watches", "knives", "snowmen", "ramen", "501s")]
    ['watch', 'knife', 'snowman', 'ramen', '501s']
    """
    return folded if len(folded) > LONGEST_WORD else _stem(folded)


@lru_cache(2**16)
def _stem(folded: str) -> str:
    if not folded.isascii() or not folded.isalpha():
        return folded
    stemmed: str = STEMMER.stemWord(_singular(folded))
    return stemmed


def _singular(word: str) -> str:
    """The singular of an irregular plural, also of "womens"; else the word."""
    for plural in (word, word.removesuffix("s")):
        if plural in PLURALS:
            return PLURALS[plural]
    for plural, singular in ENDS.items():
        before = word.removesuffix(plural)
        if before != word and len(before) >= LEAST_PART and before in known_words():
            return before + singular
    return word
