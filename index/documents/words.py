"""Words of texts, and the tokens that they are made of: runs of letters, numbers, characters.

"WH-1000XM4" is a word of the tokens wh, 1000, xm and 4, and so are "WH 1000 XM4" three words of the
same tokens: however a text joins or parts them, its tokens are the same. A number is one token with
its point: 2.5 is not 25. Scripts that put no space between words have a token for each character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import regex

from index.documents.characters import APOSTROPHES, SPACELESS, fold

SIGNS = frozenset("+-")  # of a number
JOINS = r"[-‐‑‒–—_./\\:+&*×~]|[" + APOSTROPHES + "]"  # one of them goes on with a word
TOKEN = regex.compile(
    rf"""
    (?P<barcode> (?<![\p{{Nd}}-]) (?: 97[89](?:[-\ ]?\p{{Nd}}){{10}} | \p{{Nd}}\ \p{{Nd}}{{6}}\ \p{{Nd}}{{6}}
        | \p{{Nd}}\ \p{{Nd}}{{5}}\ \p{{Nd}}{{5}}\ \p{{Nd}} ) (?!-?\p{{Nd}}) )
    | (?P<acronym> (?<![\p{{L}}\p{{M}}\p{{Nd}}.]) (?:\p{{L}}\.){{2,}} (?:\p{{L}}(?![\p{{L}}\p{{M}}\p{{Nd}}]))? )
    | (?P<plus> (?<![^\s(]) [-−+] (?=[.,]?\p{{Nd}}) )
    | (?P<fraction> (?<![\p{{Nd}}/.,]) \p{{Nd}}{{1,2}} [/⁄] (?:2|4|8|16|32|64) (?![\p{{Nd}}/.]) )
    | (?P<number> (?: (?<![\w.,]) [.,] )? \p{{Nd}}+ (?:[.,٫] \p{{Nd}}+)* )
    | (?P<letter> [{SPACELESS}&&\p{{L}}] [\p{{M}}ﾞﾟ]* )
    | (?P<letters> [\p{{L}}--{SPACELESS}--[{APOSTROPHES}]] [\p{{L}}\p{{M}}\p{{Cf}}--{SPACELESS}--[{APOSTROPHES}\u200b]]* )
        (?: [{APOSTROPHES}] [sS] (?![\p{{L}}\p{{M}}\p{{Nd}}]) )?
    | (?P<and> (?<=[\p{{L}}\p{{M}}]\s?) [&+] (?=\s?\p{{L}}) )
    | (?P<times> × | (?<=\p{{Nd}}) \* (?=\p{{Nd}}) )
    | (?P<symbol> [\p{{No}}\p{{Nl}}\p{{So}}--[™℠]] )
    """,
    regex.VERBOSE | regex.V1,
)
JOIN = regex.compile(JOINS)
GROUPED = regex.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+")
DECIMAL = regex.compile(r"\d+[.,]\d+")


@dataclass(frozen=True, slots=True)
class Token:
    """A folded token, and its place in a text: text[start:end]."""

    folded: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        return self.folded[0].isdigit()


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, of one token or of several without a space between them.

    quoted: several words that stand between quotation marks.
    """

    tokens: tuple[Token, ...]
    quoted: bool = False

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end

    @property
    def joined(self) -> str:
        """Its tokens, written as one."""
        return "".join(token.folded for token in self.tokens)


def tokens(text: str, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """The tokens of text[start:end].

    >>> [token.folded for token in tokens("Women's T-Shirts, size 4.5, ½ l, 20×30cm")]
    ['women', 't', 'shirts', 'size', '4.5', '1/2', 'l', '20', 'x', '30', 'cm']
    """
    for match in TOKEN.finditer(text, start, len(text) if end is None else end):
        kind = match.lastgroup
        begin, stop = match.span(kind)
        for folded in _fold(kind, match[kind]):
            yield Token(folded, begin, stop)


def words(text: str, start: int = 0, end: int | None = None) -> Iterator[Word]:
    """The words of text[start:end].

    >>> [[token.folded for token in word.tokens] for word in words("WH-1000XM4, red")]
    [['wh', '1000', 'xm', '4'], ['red']]
    """
    joined: list[Token] = []
    for token in tokens(text, start, end):
        if joined and token.start > joined[-1].end:
            if not JOIN.fullmatch(text, joined[-1].end, token.start):
                yield Word(tuple(joined))
                joined = []
        joined.append(token)
    if joined:
        yield Word(tuple(joined))


def _fold(kind: str, written: str) -> list[str]:
    match kind:
        case "letters" | "letter":
            folded = fold(written)
            return [folded] if folded else []
        case "number":
            return _number(fold(written))
        case "fraction":
            return [fold(written).replace("\u2044", "/")]
        case "plus":
            return ["+" if written == "+" else "-"]
        case "and":
            return ["and"]
        case "times":
            return ["x"]
        case "acronym":
            return [fold(written.replace(".", ""))]
        case "barcode":
            return ["".join(filter(str.isdigit, fold(written)))]
        case _:
            compatible = unicodedata.normalize("NFKC", written)
            return [] if compatible == written else [token.folded for token in tokens(compatible)]


def _number(written: str) -> list[str]:
    """A number with a point before its decimals, and no signs between thousands."""
    if written.isdigit():
        return [written]
    written = written.replace("٫", ".")
    if written[0] in ".,":
        written = "0" + written
    if GROUPED.fullmatch(written):
        last = written[-4] if written[-4] in ".," and len(written) > 4 else ""
        point = max(written.rfind("."), written.rfind(","))
        sign = written[point]
        other = "," if sign == "." else "."
        if other in written:
            return [written.replace(other, "").replace(sign, ".")]
        return [written.replace(sign, "")]
    if DECIMAL.fullmatch(written):
        return [written.replace(",", ".")]
    return [written] if "," not in written else [part for part in written.replace(",", " ").split()]
