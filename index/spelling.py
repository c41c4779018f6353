"""Variant spellings of English words: British and American ones, "grey" and "gray"."""

from __future__ import annotations

import re
from collections.abc import Iterator

ISE = r"(?<=\w{4})%s(?=e[sdr]?$|ing$|ation|ers$)"  # "organise", and not "rise"
OUR = r"(?<=\w{2})%s(?=$|s$|ed$|ing$|ful|less|ite)"  # "colour"
# The two ways in which words are written, each where the pattern has %s.
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
    (r"(?<=[bct])%s(?=s?$)", "re", "er"),  # "fibre"
    (r"(?<=o)%s(?=s?$)", "gue", "g"),  # "catalogue"
    (ISE, "is", "iz"),
    (OUR, "our", "or"),
)
PATTERNS = tuple(
    (re.compile(place.replace("%s", written)), other)
    for place, first, second in WAYS
    for written, other in ((first, second), (second, first))
)


def variants(word: str) -> Iterator[str]:
    """Other spellings of a word, in lower case; some of them nobody uses.

    >>> [*variants("grey")], "colour" in variants("color"), [*variants("four")]
    (['gray'], True, [])
    """
    for pattern, other in PATTERNS:
        if pattern.search(word):
            yield pattern.sub(other, word, count=1)
