"""Identifiers of products: SKUs, barcodes, numbers of models."""

from __future__ import annotations

import re
from itertools import cycle

from index.documents.characters import fold

# Keys of values that mean nothing in part: such a field is found by all of a value, or by tokens of
# it in a row.
CODES = frozenset(
    {"id", "sku", "ean", "gtin", "upc", "isbn", "mpn", "asin", "barcode", "code", "productcode"}
)
# Keys whose numbers are names and no quantities: "model", "Model No.", "article_number".
NUMBERED = re.compile(
    "model|(?:model|article|item|part|style|reference|catalogue|product)(?:number|num|nr|no|id|code)"
)
SIGNS = re.compile(r"[\W_]")
BARCODES = range(8, 15)  # digits; zeros at the start may be missing


def squeeze(text: str) -> str:
    """Write a code without signs and spaces, folded.

    >>> squeeze("WH-1000 XM4"), squeeze("ABC.001.002")
    ('wh1000xm4', 'abc001002')
    """
    return SIGNS.sub("", fold(text))


def is_code(key: str) -> bool:
    """Return whether a metadata key is one of codes."""
    return _plain(key) in CODES


def names_by_number(key: str) -> bool:
    """Return whether numbers under a metadata key name a thing.

    >>> [names_by_number(key) for key in ("EAN", "Model No.", "price", "stock")]
    [True, True, False, False]
    """
    return is_code(key) or NUMBERED.fullmatch(_plain(key)) is not None


def is_barcode(digits: str) -> bool:
    """Return whether a number is a GTIN by its check digit.

    >>> [is_barcode(digits) for digits in ("4006381333931", "4006381333932", "12.50")]
    [True, False, False]
    """
    if not (digits.isascii() and digits.isdigit() and len(digits) in BARCODES):
        return False
    weighed = zip(map(int, reversed(digits)), cycle((1, 3)), strict=False)
    return sum(digit * weight for digit, weight in weighed) % 10 == 0


def list_written(code: str) -> list[str]:
    """List the ways to write a code without signs: of a GTIN also with other zeros before it.

    >>> list_written("04006381333931"), list_written("ab12")
    (['04006381333931', '4006381333931'], ['ab12'])
    """
    if not is_barcode(code):
        return [code]
    number = code.lstrip("0") or "0"
    padded = (number.zfill(length) for length in BARCODES if length >= len(number))
    return list(dict.fromkeys([code, number, *padded]))


def _plain(key: str) -> str:
    return SIGNS.sub("", key.casefold())
