"""Limits of a text: what is refused, and where runs are cut, before any word of it is read.

Tokenizers take time by the square of a run without spaces, and hold the interpreter's lock
meanwhile. So each text is bounded by counts that are cheap and linear in its length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

MOST_WORDS = 200
LONGEST_TEXT = 40 * MOST_WORDS  # characters
MOST_SIGNS = 3 * MOST_WORDS  # punctuation and symbols: a text has about one in eight words
MOST_TOGETHER = 5 * MOST_WORDS  # words of all phrases of a query
LONGEST_RUN = 200  # characters without a space: a longer run is cut at signs

RUN = re.compile(r"\S+")
# Signs, and the marks of scripts, which are parts of words.
SIGN, LETTERS = r"(?:[^\w\s]|_)", r"[^\W_]+"
# A piece of a long run: up to the last sign in reach, or letters alone, which take no longer.
PIECE = re.compile(rf"\S{{1,{LONGEST_RUN - 1}}}{SIGN}|{SIGN}?{LETTERS}|{SIGN}")


def refuse_huge(text: str) -> None:
    """Raise ValueError by cheap counts, before a huge text is tokenized."""
    _refuse([text], MOST_WORDS, "the text has", "send a sentence of")


def refuse_many(texts: Sequence[str]) -> None:
    """Raise ValueError for texts of one query that are huge together."""
    _refuse(texts, MOST_TOGETHER, "the phrases have together", "send phrases of")


def _refuse(texts: Sequence[str], most: int, has: str, send: str) -> None:
    characters, words = sum(map(len, texts)), sum(len(text.split()) for text in texts)
    if characters > LONGEST_TEXT or words > most:
        raise ValueError(
            f"{has} {words:,} words and {characters:,} characters; "
            f"{send} at most {most:,} words and {LONGEST_TEXT:,} characters"
        )
    signs = sum(map(count_signs, texts))
    if signs > MOST_SIGNS:
        raise ValueError(
            f"{has} {signs:,} punctuation marks and symbols; {send} at most {MOST_SIGNS}"
        )


def count_signs(text: str) -> int:
    """How many characters are punctuation, symbols or invisible: no letters, marks or spaces.

    >>> count_signs("well-known, isn’t it? नमस्ते")
    4
    """
    return sum(unicodedata.category(sign)[0] != "M" for sign in re.findall(SIGN, text))


def cut_runs(text: str) -> tuple[str, list[int]]:
    """A text with a space at each place where a long run is cut, and where these spaces are.

    >>> spaced, cuts = cut_runs("a " + "%" * 450 + "b" * 250)
    >>> [len(run) for run in spaced.split()], cuts
    ([1, 200, 200, 50, 250], [202, 403, 454])
    """
    if max(map(len, text.split()), default=0) <= LONGEST_RUN:
        return text, []
    parts, cuts, length = list[str](), list[int](), 0
    for run in RUN.finditer(text):
        long = len(run[0]) > LONGEST_RUN
        pieces = PIECE.findall(run[0]) if long else [run[0]]
        parts.append(text[length - len(cuts) : run.start()])
        length = run.start() + len(cuts)
        for piece in pieces[:-1]:
            length += len(piece)
            cuts.append(length)
            length += 1
        parts.append(" ".join(pieces))
        length += len(pieces[-1])
    return "".join(parts) + text[length - len(cuts) :], cuts
