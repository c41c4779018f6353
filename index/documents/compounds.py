"""Compounds of documents by the word that they end with: "Damenjacke" by "Jacke".

A compound is a known word of plain letters: a beginning, perhaps a link, and a form of the word.
The beginning has to be a known word itself, or to be followed by other letters in other words, as
a part of words is (Harris, From phoneme to morpheme, 1955): "Regen" in "Regenjacke", "Regenhose".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from index.documents.languages.word_language import WordLanguage

GERMAN = "de"

LINKS = ("", "s", "es", "n", "en", "e", "er")  # between the parts
CUT = ("", "e")  # off the end of a beginning: "Schule" in "Schulheft"
LEAST_PART = 3  # letters of a beginning
LEAST_END = 2  # letters of an end
LEAST_BRANCHING = 5  # letters of one that is no known word; others begin many words by chance
LEAST_UNKNOWN = 4  # letters of a word that is found behind unknown parts, and of these
# German nouns are joined to so many others that any may stand before them, but for prefixes of
# verbs; and "praktisch" is no "Tisch".
LEAST_GERMAN = 3  # letters of a part that may stand there
GERMAN_PREFIXES = frozenset({"emp", "ent", "miss", "ver", "zer"})
ADJECTIVES = "isch"
CHANGED = 2  # last letters that forms of a word may differ by


class Compounds:
    """The words of documents, to find those that end with another one."""

    def __init__(self, words: Iterable[str], language: WordLanguage) -> None:
        self._language = language
        self._words = sorted((language.plain(word), word) for word in words if word.isalpha())
        self._plain = [plain for plain, _ in self._words]
        self._text = "\n".join(self._plain) + "\n"  # to look for letters in all words at once
        lengths = (len(plain) + 1 for plain in self._plain)
        self._starts = list(accumulate(lengths, initial=0))
        self._parts = {
            plain
            for plain, word in self._words
            if len(plain) >= LEAST_PART and language.is_content(word)
        }

    def list_of(self, word: str, *, known: bool) -> tuple[list[str], list[str]]:
        """List the compounds that end with a form of a folded word: sure ones, and guessed ones.

        Those are guessed that begin with no known part: in German, or of an unknown word.
        """
        plain = self._language.plain(word)
        sure, guessed = dict[str, None](), dict[str, None]()
        for other, spelled, at in self._list_ends(plain):
            end = other[at:]
            if self._is_form(word, plain, end, spelled):
                if self._is_part(other[:at], end):
                    sure[spelled] = None
                elif self._is_likely(other[:at], end, known=known):
                    guessed[spelled] = None
        return list(sure), list(guessed)

    def _list_ends(self, plain: str) -> Iterator[tuple[str, str, int]]:
        """List words with an end that may be a form of a plain one, and where it begins."""
        if len(plain) < LEAST_END:
            return
        letters = plain[: max(LEAST_END + 1, len(plain) - CHANGED)]
        looked_for = letters if len(letters) > LEAST_END else f"{letters}\n"
        place = self._text.find(looked_for)
        while place >= 0:
            word = bisect_right(self._starts, place) - 1
            start = self._starts[word]
            if place - start >= LEAST_PART:
                yield *self._words[word], place - start
            place = self._text.find(looked_for, place + 1)

    def _is_form(self, word: str, plain: str, end: str, spelled: str) -> bool:
        """Return whether the end of a compound is a form of a word.

        Of two forms the one with an umlaut is a plural, and so not the shorter one; "er" behind the
        "e" of another word makes a person or tool of it: "Schraube", "Schrauber".
        """
        if end == plain:
            return spelled.endswith(word)
        shorter, longer = sorted((plain, end), key=len)
        if len(longer) - len(shorter) > CHANGED or not longer.startswith(shorter[:-1]):
            return False
        if longer == f"{shorter}r" and shorter.endswith("e"):
            return False
        accented = plain if word != plain else end if not spelled.endswith(end) else longer
        stem = self._language.stem
        return len(accented) == len(longer) and stem(end) == stem(word)

    def _is_part(self, beginning: str, end: str) -> bool:
        """Return whether a compound may begin so, before some end."""
        if self._language.is_function_word(beginning):
            return False
        for link in LINKS:
            part = beginning.removesuffix(link) if link else beginning
            if beginning.endswith(link) and self._is_known(part):
                return True
        return len(beginning) >= LEAST_BRANCHING and self._branches(beginning, end)

    def _is_likely(self, beginning: str, end: str, *, known: bool) -> bool:
        """Return whether a compound may begin with an unknown part."""
        if self._language.is_function_word(beginning) or len(end) < LEAST_UNKNOWN:
            return False
        if self._language.code != GERMAN:
            return not known and len(beginning) >= LEAST_UNKNOWN
        return (
            len(beginning) >= (LEAST_GERMAN if known else LEAST_UNKNOWN)
            and beginning not in GERMAN_PREFIXES
            and not (known and self._language.stem(end).endswith(ADJECTIVES))
        )

    def _is_known(self, part: str) -> bool:
        """Return whether a part is a known word, or a compound of some."""
        if any(part + ending in self._parts for ending in CUT):
            return True
        return any(
            part[at:] in self._parts and self._is_known_with_link(part[:at])
            for at in range(LEAST_PART, len(part) - LEAST_PART + 1)
        )

    def _is_known_with_link(self, part: str) -> bool:
        """Return whether a beginning is a known word, perhaps with a link."""
        return any(
            part.removesuffix(link) + ending in self._parts
            for link in LINKS
            if part.endswith(link)
            for ending in CUT
        )

    def _branches(self, beginning: str, end: str) -> bool:
        """Return whether another word goes on with another letter behind a beginning."""
        first = bisect_right(self._plain, beginning)
        last = bisect_left(self._plain, f"{beginning}\U0010ffff")
        return any(
            len(plain) >= len(beginning) + LEAST_PART and plain[len(beginning)] != end[0]
            for plain in self._plain[first:last]
        )
