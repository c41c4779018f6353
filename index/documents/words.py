"""Terms: words of fields and of queries in the form in which they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

# Letters and digits, with the signs that join them inside a word: "t-shirt", "AB-12/3", "women's".
WORD = re.compile(r"[^\W_]+(?:[-–./'’&+][^\W_]+)*")
PART = re.compile(r"[^\W_]+")
STEMMER = snowballstemmer.stemmer("english")
LONGEST_WORD = 100  # letters: a longer one is no word of a language


@dataclass(frozen=True, slots=True)
class FoldedWord:
    """A folded word, and its place in a text: text[start:end]."""

    folded: str
    start: int
    end: int


def words(text: str, start: int = 0, end: int | None = None) -> Iterator[FoldedWord]:
    """The words of text[start:end]; one with signs inside counts as a whole.

    >>> [word.folded for word in words("Women's T-Shirts, size 4.5")]
    ['women', 'tshirts', 'size', '45']
    """
    for match in WORD.finditer(text, start, len(text) if end is None else end):
        if folded := fold(match.group()):
            yield FoldedWord(folded, match.start(), match.end())


def spell(text: str) -> Iterator[tuple[str, str]]:
    """List the words of a text, and the parts of words that signs join.

    Each as it is folded, and as it is written in lower case.

    >>> dict(spell("Café T-Shirts AB-12"))  # doctest: +NORMALIZE_WHITESPACE
    {'cafe': 'café', 'tshirts': 't-shirts', 't': 't', 'shirts': 'shirts', 'ab12': 'ab-12',
     'ab': 'ab', '12': '12'}
    """
    for match in WORD.finditer(text):
        whole = _without_possessive(match.group())
        parts = PART.findall(whole)
        for word in (whole, *parts) if len(parts) > 1 else (whole,):
            yield fold(word), word.lower()


def fold(word: str) -> str:
    """A word in lower case, without accents and signs."""
    return _fold(word) if len(word) > LONGEST_WORD else _cached_fold(word)


def stem(folded: str) -> str:
    """A folded word without its ending, as it is compared.

    One with digits stays as it is, and so does one that is longer than words are.
    """
    return folded if len(folded) > LONGEST_WORD else _stem(folded)


def _fold(word: str) -> str:
    letters = unicodedata.normalize("NFKD", _without_possessive(word).casefold())
    return letters if letters.isalnum() else "".join(filter(str.isalnum, letters))


_cached_fold = lru_cache(2**16)(_fold)


@lru_cache(2**16)
def _stem(folded: str) -> str:
    if any(sign.isdigit() for sign in folded):
        return folded
    stemmed: str = STEMMER.stemWord(folded)
    return stemmed


def _without_possessive(word: str) -> str:
    return re.sub(r"['’]s?$", "", word)


ISE = r"(?<=\w{4})%s(?=e[sdr]?$|ing$|ation|ers$)"  # "organise", and not "rise"
OUR = r"(?<=\w{3})%s(?=$|s$|ed$|ing$|ful|less|ite)"  # "colour"
# The two ways in which words are written, each where the pattern has %s; groups stay as they are.
WAYS = (
    ("%s", "grey", "gray"),
    ("%s", "yoghurt", "yogurt"),
    ("%s", "aluminium", "aluminum"),
    ("%s", "moustache", "mustache"),
    ("%s", "pyjama", "pajama"),
    ("%s", "doughnut", "donut"),
    ("%s", "chilli", "chili"),
    ("%s", "plough", "plow"),
    ("%s", "woollen", "woolen"),
    ("^%s", "tyre", "tire"),
    ("^%s", "mould", "mold"),
    ("^%s", "cosy", "cozy"),
    ("%s", "jewellery", "jewelry"),
    (r"(?<=en)%s(?=e$|es$)", "c", "s"),  # "licence"
    (r"^(cent|fib|met|lit|theat|calib|somb|lust|sab)%s(?=s?$)", "re", "er"),
    (r"^((?:catal|dial|anal|monol|prol)o)%s(?=s?$)", "gue", "g"),
    (ISE, "is", "iz"),
    (OUR, "our", "or"),
)
PATTERNS = tuple(
    (re.compile(place.replace("%s", written)), other)
    for place, first, second in WAYS
    for written, other in ((first, second), (second, first))
)


def variants(word: str) -> Iterator[str]:
    """List other spellings of a word, in lower case; not all of them are in use.

    >>> [[*variants(word)] for word in ("grey", "color", "fibres", "catalog", "four", "flour")]
    [['gray'], ['colour'], ['fibers'], ['catalogue'], [], []]
    """
    for pattern, other in PATTERNS:
        if match := pattern.search(word):
            yield word[: match.start()] + "".join(match.groups()) + other + word[match.end() :]
