"""A language, as words are compared in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from index.documents.characters import SIGNS


def _none(_: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class WordLanguage:
    """Comparison of a language's words.

    fold: a written word in its letters. plain: a folded word in plain letters. stem: the term of a
    folded word. without, free: words that name the next one, or the one before, as lacking.
    is_trusted: whether an unknown folded word is rather another word than a misspelling. variants:
    other spellings of a word. name_lacking: words for things without the thing of a word.
    has_accents: whether folded words may differ from plain ones. negates: whether negation is read.
    joins: whether words are joined to new ones, as "Regen" and "Jacke" to "Regenjacke".
    """

    code: str
    name: str
    fold: Callable[[str], str]
    plain: Callable[[str], str]
    stem: Callable[[str], str]
    is_function_word: Callable[[str], bool]
    without: frozenset[str]
    is_trusted: Callable[[str], bool]
    free: frozenset[str] = frozenset()
    variants: Callable[[str], Iterable[str]] = _none
    name_lacking: Callable[[str], Iterable[str]] = _none
    has_accents: bool = True
    negates: bool = False
    joins: bool = False

    def is_content(self, token: str) -> bool:
        """Return whether a token is neither a function word nor a sign."""
        return token not in SIGNS and not self.is_function_word(token)
