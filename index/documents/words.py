"""Words of texts, and their tokens: runs of letters, numbers, characters.

"WH-1000XM4" is a word of the tokens wh, 1000, xm and 4, and "WH 1000 XM4" are three words of the
same tokens: in whichever way a text joins and parts words, its tokens are the same. A number is one
token with its point: 2.5 is not 25. Scripts without spaces have a token for each character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import regex

from index.documents.characters import APOSTROPHES, fold
from index.documents.languages.english import ENGLISH
from index.documents.languages.word_language import WordLanguage
from index.documents.numbers import fold_number
from models.text.segmentation import SPACELESS

JOIN = regex.compile(rf"[-‐‑‒–—_./\\:+&*×~{APOSTROPHES}]")  # one of these goes on with a word
# The spaces of "4 x 40", which is one word as "4x40" is.
MEASURED = regex.compile(r"(?<=\p{Nd})\s(?=[xX×]\s\p{Nd})|(?<=\p{Nd}\s[xX×])\s(?=\p{Nd})")
MARKS = r"\p{M}\p{Cf}"
LETTER = rf"[\p{{L}}--{SPACELESS}--[{APOSTROPHES}]]"
INSIDE = rf"[\p{{L}}{MARKS}--{SPACELESS}--[{APOSTROPHES}\u200b]]"
AFTER = r"(?![\p{L}\p{M}\p{Nd}])"
# The kinds of tokens, by what they look like; the first that fits counts.
KINDS = {
    # 978-3-16-148410-0, and groups of digits as below a barcode
    "code": r"(?<![\p{Nd}-])(?:97[89](?:[- ]?\p{Nd}){10}|\p{Nd} \p{Nd}{6} \p{Nd}{6}"
    r"|\p{Nd} \p{Nd}{5} \p{Nd}{5} \p{Nd})(?!-?\p{Nd})",
    "acronym": rf"(?<![\p{{L}}\p{{M}}\p{{Nd}}.])(?:\p{{L}}\.){{2,}}(?:\p{{L}}{AFTER})?",
    "sign": r"(?<![^\s(])[-−+](?=[.,]?\p{Nd})",
    # of an inch; "36/38" are two sizes
    "fraction": r"(?<![\p{Nd}/.,])(?:[13579]|1[135])[/⁄](?:2|4|8|16|32|64)(?![\p{Nd}/.])",
    "number": r"(?:(?<![\w.,])[.,])?\p{Nd}+(?:[.,٫]\p{Nd}+)*",
    "character": rf"[{SPACELESS}&&\p{{L}}][\p{{M}}ﾞﾟ]*",
    "initial": rf"(?<=&)\p{{L}}(?=[sS]{AFTER})",  # of several: "M&Ms"
    "possessive": rf"(?<=[\p{{L}}\p{{M}}])[{APOSTROPHES}][sS]{AFTER}|(?<=&\p{{L}})[sS]{AFTER}",
    "letters": f"{LETTER}{INSIDE}*",
    "and": r"(?<=[\p{L}\p{M}]\s?)[&+](?=\s?\p{L})",
    "times": r"×|(?<=\p{Nd})\*(?=\p{Nd})",
    "symbol": r"[\p{No}\p{Nl}\p{So}--[™℠]]",
}
LISTED = regex.compile(r"[^,]+")  # a number of a list such as "36,37,38"
TOKEN = regex.compile("|".join(f"(?P<{kind}>{look})" for kind, look in KINDS.items()), regex.V1)


@dataclass(frozen=True, slots=True)
class Token:
    """A folded token, and its place in a text: text[start:end]."""

    folded: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return self.folded[0].isdigit()


@dataclass(frozen=True, slots=True)
class WrittenWord:
    """A word of a text, of one token or several without a space.

    quoted: several words that stand between quotation marks.
    """

    tokens: tuple[Token, ...]
    quoted: bool = False

    @property
    def start(self) -> int:
        """Its first place in the text."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """The place behind it in the text."""
        return self.tokens[-1].end

    def part(self, text: str) -> Iterator[WrittenWord]:
        """Part it at its spaces, as of "4 x 40"."""
        first = 0
        for place, (before, token) in enumerate(pairwise(self.tokens), 1):
            if text[before.end : token.start].isspace():
                yield WrittenWord(self.tokens[first:place])
                first = place
        yield WrittenWord(self.tokens[first:])

    @property
    def joined(self) -> str:
        """Its tokens, written as one."""
        return "".join(token.folded for token in self.tokens)


def tokens(
    text: str, start: int = 0, end: int | None = None, language: WordLanguage = ENGLISH
) -> Iterator[Token]:
    """The tokens of text[start:end], in the letters of a language.

    >>> [token.folded for token in tokens("Women's T-Shirts, size 4.5, ½ l, 20×30cm")]
    ['women', 't', 'shirts', 'size', '4.5', '1/2', 'l', '20', 'x', '30', 'cm']
    """
    for match in TOKEN.finditer(text, start, len(text) if end is None else end):
        assert match.lastgroup is not None
        begin, stop = match.span()
        if match.lastgroup == "number":
            yield from _read_numbers(match.group(), begin)
            continue
        for folded in _fold(match.lastgroup, match.group(), language):
            yield Token(folded, begin, stop)


def _read_numbers(written: str, begin: int) -> Iterator[Token]:
    """The numbers of a match, each of a list at its own place."""
    numbers = fold_number(fold(written))
    places = [(0, len(written))]
    if len(numbers) > 1:
        places = [match.span() for match in LISTED.finditer(written)]
    for folded, (first, last) in zip(numbers, places, strict=True):
        yield Token(folded, begin + first, begin + last)


def words(
    text: str, start: int = 0, end: int | None = None, language: WordLanguage = ENGLISH
) -> Iterator[WrittenWord]:
    """The words of text[start:end], in the letters of a language.

    >>> [[token.folded for token in word.tokens] for word in words("WH-1000XM4, red")]
    [['wh', '1000', 'xm', '4'], ['red']]
    """
    joined: list[Token] = []
    for token in tokens(text, start, end, language):
        if joined and not _goes_on(text, joined[-1], token):
            yield WrittenWord(tuple(joined))
            joined = []
        joined.append(token)
    if joined:
        yield WrittenWord(tuple(joined))


@lru_cache(64)
def read_words(text: str, language: WordLanguage = ENGLISH) -> tuple[WrittenWord, ...]:
    """The words of a query; it is read several times."""
    return tuple(words(text, language=language))


def _goes_on(text: str, before: Token, token: Token) -> bool:
    if before.end >= token.start or JOIN.fullmatch(text, before.end, token.start):
        return True
    space = MEASURED.match(text, before.end)
    return space is not None and space.end() == token.start


def _fold(kind: str, written: str, language: WordLanguage) -> list[str]:
    """The folded tokens of a match."""
    if kind in LETTERED:
        folded = language.fold(written)
        return [folded] if folded else []
    return FOLDS[kind](written)


def _fold_code(written: str) -> list[str]:
    return ["".join(filter(str.isdigit, fold(written)))]


def _fold_symbol(written: str) -> list[str]:
    """The tokens of a symbol such as "½", "№", "℃"; most have none."""
    compatible = unicodedata.normalize("NFKC", written)
    return [] if compatible == written else [token.folded for token in tokens(compatible)]


LETTERED = frozenset({"character", "initial", "letters"})
FOLDS: Mapping[str, Callable[[str], list[str]]] = {
    "code": _fold_code,
    "acronym": lambda written: [fold(written.replace(".", ""))],
    "sign": lambda written: ["+" if written == "+" else "-"],
    "fraction": lambda written: [fold(written).replace("⁄", "/")],
    "possessive": lambda _: [],
    "and": lambda _: ["and"],
    "times": lambda _: ["x"],
    "symbol": _fold_symbol,
}
