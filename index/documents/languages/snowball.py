"""Languages of collections, with stems by Snowball.

A word is folded by its language to the letters of it, stemmed, and the stem folded further to plain
letters, so that "çanta" and "canta" have one term.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial

import regex
import snowballstemmer

from index.documents.characters import LONGEST_WORD, fold
from index.documents.languages.english import ENGLISH
from index.documents.languages.function_words import FUNCTION_WORDS, WITHOUT
from index.documents.languages.plurals import take_singular
from index.documents.languages.word_language import WordLanguage

log = logging.getLogger(__name__)

UNDETERMINED = "und"  # ISO 639's code: words as they are written
# ISO 639-1, and the algorithm of Snowball.
NAMES: Mapping[str, str] = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
JOINING = frozenset({"da", "de", "et", "fi", "hu", "nl", "no", "sv"})
# Signs that no letter of any language has: joiners, soft hyphens, the Arabic elongation.
FORMATS = regex.compile(r"\p{Cf}|\u0640")
DOTS = str.maketrans({"I": "ı", "İ": "i"})  # Turkish
# Snowball takes a further ending off what it has made: "çantalar", "çanta", "ça".
REPEATED = frozenset({"nl", "tr"})
WHOLE = frozenset({"tr"})  # also the first ending leaves LEAST_STEM letters
MOST_ENDINGS, LEAST_STEM = 5, 3  # of a word with several
# Letters of a word that may be misspelt: no list says which shorter ones are right.
LEAST_CORRECTED = 5


@cache
def find_language(code: str) -> WordLanguage:
    """Find a language by its code; ValueError with those there are.

    >>> german = find_language("de")
    >>> [german.stem(german.fold(word)) for word in ("Schuhe", "Häuser", "Größe")]
    ['schuh', 'haus', 'gross']
    """
    if code == ENGLISH.code:
        return ENGLISH
    if code not in NAMES and code != UNDETERMINED:
        codes = ", ".join(sorted((*NAMES, UNDETERMINED)))
        raise ValueError(f"there is no language {code!r}; there are {codes}")
    function_words = frozenset(FUNCTION_WORDS.get(code, "").split())
    return WordLanguage(
        code,
        NAMES[code].capitalize() if code in NAMES else "Undetermined",
        fold=partial(_fold_letters, dotless=code == "tr"),
        plain=fold,
        stem=lru_cache(2**16)(partial(_stem, code)),
        is_function_word=function_words.__contains__,
        without=frozenset(WITHOUT.get(code, "").split()),
        is_trusted=lambda folded: len(folded) < LEAST_CORRECTED,
        joins=code in JOINING,
    )


def language_of(stored: Sequence[str]) -> WordLanguage:
    """The language of a stored code; English without a known one."""
    try:
        return find_language(stored[0]) if stored else ENGLISH
    except ValueError as unknown:
        log.error("%s; the words of its collection are taken for English", unknown)
        return ENGLISH


def _fold_letters(word: str, *, dotless: bool) -> str:
    """A word in lower case, with its accents."""
    word = unicodedata.normalize("NFKC", word.translate(DOTS) if dotless else word).casefold()
    letters: str = FORMATS.sub("", unicodedata.normalize("NFC", word))
    return letters


def _stem(code: str, folded: str) -> str:
    """The plain stem of a folded word; numbers and long words stay."""
    if code not in NAMES or len(folded) > LONGEST_WORD or any(map(str.isdigit, folded)):
        return fold(folded)
    take_off, word = _stemmer(NAMES[code]), take_singular(code, folded)
    first = word if code in WHOLE else take_off(word)
    stemmed = _take_off_all(first, take_off) if code in REPEATED else first
    return fold(stemmed) or fold(folded)


def _take_off_all(word: str, take_off: Callable[[str], str]) -> str:
    """A word without any ending, but with LEAST_STEM letters."""
    for _ in range(MOST_ENDINGS):
        shorter = take_off(word)
        if shorter == word or len(shorter) < LEAST_STEM:
            break
        word = shorter
    return word


@cache
def _stemmer(algorithm: str) -> Callable[[str], str]:
    stem: Callable[[str], str] = snowballstemmer.stemmer(algorithm).stemWord
    return stem
