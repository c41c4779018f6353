"""Words in the Penn Treebank's form, for published metrics."""

from __future__ import annotations

import re

# Endings that are words of their own: "man's" is "man" and "'s", "don't" is "do" and "n't".
ENDING = r"(?:n't|'(?:s|re|ve|ll|d|m))\b"
LETTERS = rf"(?:(?!{ENDING})\w)+"
TOKEN = re.compile(
    rf"""
    {ENDING}
    | can(?=not\b) | gon(?=na\b) | got(?=ta\b) | wan(?=na\b)
    | 'n'
    | (?:mr|mrs|ms|dr|jr|sr|st)\.                   # an abbreviation keeps its full stop
    | [a-z]\.(?:[a-z]\.)+ | \b[a-z]\.(?=.)          # and so do initials
    | \d+(?:[.,:/]\d+)+
    | {LETTERS}(?:(?!{ENDING})['.-]{LETTERS})*      # t-shirt, o'clock, shop.com
    | [^\s\w]
    """,
    re.VERBOSE,
)
PUNCTUATION = frozenset("'\"`.?!,:-;…–—")
BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}


def treebank_words(text: str) -> list[str]:
    """The lower-case words of a text, without punctuation; brackets have names.

    They are those that pycocoevalcap takes from Stanford's tokenizer for all captions of Flickr8k
    and Pascal1K, without Java.

    >>> treebank_words("The man's T-shirt doesn't fit .")
    ['the', 'man', "'s", 't-shirt', 'does', "n't", 'fit']
    """
    tokens = TOKEN.findall(text.lower().strip())
    return [BRACKETS.get(token, token) for token in tokens if token not in PUNCTUATION]
