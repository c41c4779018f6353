"""Characters of words by Unicode, and the folding of a word."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import regex

from models.text.lexicon import LETTERS

LONGEST_WORD = 100  # letters: a longer one is no word of a language
APOSTROPHES = "'’ʼʻ＇"
SIGNS = frozenset("+-")  # of a number
# What a word may be written with or without: accents, vowel points, joiners, soft hyphens. Marks of
# Indic scripts are vowels, and those of kana make other letters.
OPTIONAL = regex.compile(
    r"[[\p{M}&&[\p{Zinh}\p{Latn}\p{Grek}\p{Cyrl}\p{Arab}\p{Hebr}\p{Syrc}]]--[\u3099\u309a]]"
    r"|\p{Cf}|\u0640",
    regex.V1,
)
# Letters that Unicode does not take apart, and Arabic ones that are typed for each other.
SAME = LETTERS | str.maketrans("ىیکةð", "ييكهd") | str.maketrans({"þ": "th", "ħ": "h"})


def fold(word: str) -> str:
    """A word in lower case and compatible letters, without optional marks.

    >>> [fold(word) for word in ("Crème", "ＡＢ１２", "ﬁne", "Smørrebrød", "٥٠٠")]
    ['creme', 'ab12', 'fine', 'smorrebrod', '500']
    """
    return _fold(word) if len(word) > LONGEST_WORD else _cached_fold(word)


def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", word).casefold())
    letters = unicodedata.normalize("NFC", OPTIONAL.sub("", letters)).translate(SAME)
    return "".join(map(_digit, letters))


_cached_fold = lru_cache(2**16)(_fold)


def _digit(character: str) -> str:
    """A decimal digit of any script as 0 to 9."""
    return str(unicodedata.decimal(character, character))
