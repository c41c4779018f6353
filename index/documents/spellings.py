"""Other spellings of a word, and other ways to write a number."""

from __future__ import annotations

import re
from collections.abc import Iterator

ISE = r"(?<=\w{4})%s(?=e[sdr]?$|ing$|ation|ers$)"  # "organise", and not "rise"
OUR = r"(?<=\w{3})%s(?=$|s$|ed$|ing$|ful|less|ite)"  # "colour"
# The two ways in which words are written, each where the pattern has %s; groups stay as they are.
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
    (r"^(cent|fib|met|lit|theat|calib|somb|lust|sab)%s(?=s?$)", "re", "er"),
    (r"^((?:catal|dial|anal|monol|prol)o)%s(?=s?$)", "gue", "g"),
    (ISE, "is", "iz"),
    (OUR, "our", "or"),
)
PATTERNS = tuple(
    (re.compile(place.replace("%s", written)), other)
    for place, first, second in WAYS
    for written, other in ((first, second), (second, first))
)


UMLAUT = re.compile(r"([aou])e")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def variants(word: str) -> Iterator[str]:
    """List other spellings of a word or number, in lower case; not all of them are in use.

    >>> [[*variants(word)] for word in ("grey", "color", "fibres", "catalog", "four", "flour")]
    [['gray'], ['colour'], ['fibers'], ['catalogue'], [], []]
    >>> [[*variants(number)] for number in ("2.50", "2", "10000")]
    [['2.5'], ['2.0', '2.00'], ['10000.0', '10000.00', '10.000']]
    """
    if word[0].isdigit():
        yield from _other_numbers(word)
        return
    for pattern, other in PATTERNS:
        if match := pattern.search(word):
            yield word[: match.start()] + "".join(match.groups()) + other + word[match.end() :]


def without_umlauts(word: str) -> Iterator[str]:
    """List a word with German umlauts that are written in two letters as it is without dots.

    >>> [*without_umlauts("mueller")]
    ['muller']
    """
    if (other := UMLAUT.sub(r"\1", word)) != word:
        yield other


def _other_numbers(number: str) -> Iterator[str]:
    """Numbers that are the same: with other zeros at the end, or with a point at the thousands."""
    if not NUMBER.fullmatch(number):
        return
    whole, _, decimals = number.partition(".")
    least = decimals.rstrip("0")
    for written in (least, f"{least}0", f"{least}00"):
        if written != decimals and (written or decimals) and len(written) <= 3:
            yield f"{whole}.{written}" if written else whole
    if not decimals and 3 < len(whole) <= 6:
        yield f"{whole[:-3]}.{whole[-3:]}"
    elif len(decimals) == 3 and not whole.startswith("0") and len(whole) <= 3:
        yield whole + decimals
