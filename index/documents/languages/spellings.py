"""Other spellings of a word: British, American, umlauts in two letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import normalize

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
WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def variants(word: str) -> Iterator[str]:
    """List other spellings of a word in lower case, used or not.

    >>> [[*variants(word)] for word in ("grey", "color", "fibres", "catalog", "four", "flour")]
    [['gray'], ['colour'], ['fibers'], ['catalogue'], [], []]
    """
    for pattern, other in PATTERNS:
        if match := pattern.search(word):
            yield word[: match.start()] + "".join(match.groups()) + other + word[match.end() :]


def write_out_umlauts(text: str) -> str:
    """Write two letters for each German umlaut.

    >>> write_out_umlauts("Käse, Müsli")
    'Kaese, Muesli'
    """
    return normalize("NFC", text).translate(WRITTEN_OUT)


def spell(text: str) -> Iterator[str]:
    """Yield a text as it is, then with one letter an umlaut.

    >>> [*spell("kaese rund")], [*spell("rund")]
    (['kaese rund', 'kase rund'], ['rund'])
    """
    if text:
        yield text
    yield from without_umlauts(text)


def without_umlauts(word: str) -> Iterator[str]:
    """List a word with one letter for each German umlaut.

    >>> [*without_umlauts("mueller")]
    ['muller']
    """
    if (other := UMLAUT.sub(r"\1", word)) != word:
        yield other
