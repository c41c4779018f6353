"""Hostile texts: repetitions of short pieces, slow for some parsers."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import thread_time

# One in each way in which tokenizers and patterns split: affixes, infixes, addresses, scripts.
PIECES = (
    *("%", "1,", "-a ", "a)", "(", "('", "a's", "'s", "n't", "a.", "...", "a...b", "--", "a--b"),
    *("a-b", "a/b", "a:b", "a://b", "http://a.b/", "a@b.c ", "a@", "www.", "a.com", "1.", "1km"),
    *("$1", "£", "%20", "&amp;", "<a>", '"a" ', "“", "``", "#a", "@a", "*", "_", "a_", "\\", "|"),
    *("no ", "no a, ", "not a or ", "without a and ", "no one ", "of ", "a b, ", "isn't ", "U.S."),
    *(
        "狗",
        "狗，",
        "ありがとう",
        "ไทย",
        "नमस्ते",
        "שלום ",
        "\u202eab",
        "e\u0301",
        "\u0301",
        "👩‍👩‍👧",
    ),
    *("🐶", "️", "\u200b", "\u200b ", "\x01", "\t ", "\n", "\u00a0", "İ", "ß", "ﬁ", "ﷺ", "½", "²"),
    *(
        "é ",
        "aA",
        "Aa.",
        "ing",
        "ss",
        "y",
        "ss's ",
        ":) ",
        ":-D",
        "C++ ",
        "a ",
        "ab ",
        "-",
        "+",
        "'",
    ),
)


def categories() -> list[str]:
    """A character of each category of Unicode."""
    by_category: dict[str, str] = {}
    for code in range(1, sys.maxunicode, 7):
        character = chr(code)
        by_category.setdefault(unicodedata.category(character), character)
    by_category.pop("Cs", None)  # halves of pairs are refused
    return list(by_category.values())


def pieces(seed: int, count: int) -> Iterator[str]:
    """All of PIECES and categories, and some mixtures."""
    alphabet = [*PIECES, *categories()]
    yield from alphabet
    chance = random.Random(seed)
    for _ in range(count):
        yield "".join(chance.choices(alphabet, k=chance.randint(2, 4)))


def repeated(piece: str, length: int) -> str:
    """A text of a length: a word, then a repeated piece."""
    return ("a " + piece * (length // len(piece) + 1))[:length]


def seconds(work: Callable[[], object], times: int = 2) -> float:
    """Seconds of work on this thread, the best of some.

    Refusals count, too.
    """
    best = float("inf")
    for _ in range(times):
        began = thread_time()
        with suppress(ValueError):
            work()
        best = min(best, thread_time() - began)
    return best
