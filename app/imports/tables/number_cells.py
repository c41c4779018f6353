"""Numbers in the cells of a column: 12, 1,299.00, 1.299,00 €, 1'299.50; codes are none."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from index.documents.identifiers import is_barcode, names_by_number

MOST_DIGITS = 15  # before and behind the decimal sign: a float holds no more
GROUPS = "'’ \u00a0\u2009\u202f"  # between thousands; and the sign that is no decimal sign
NOTHING = {  # texts for a number that is not there
    *("n/a", "na", "n.a.", "-", "–", "none", "null", "nan", "tbd", "tba", "k.a.", "?"),
    *("on request", "price on request", "call", "auf anfrage", "sur demande", "a consultar"),
}
PRICES = {
    *("price", "prices", "preis", "preise", "prix", "precio", "prezzo", "prijs", "pris", "cena"),
    *("cost", "costs", "msrp", "rrp", "uvp", "amount", "betrag", "stock", "inventory", "quantity"),
    *("qty", "bestand", "menge"),
}
CURRENCIES = {
    *("EUR", "USD", "GBP", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "TRY", "UAH"),
    *("JPY", "CNY", "KRW", "INR", "AUD", "NZD", "CAD", "BRL", "MXN", "ZAR", "SGD", "HKD", "ILS"),
    *("AED", "THB", "US$", "R$", "A$", "C$", "KR", "KR.", "ZŁ", "FR.", "RS", "RS.", "KČ", "FT"),
}
SAME = {  # names of the same currency, by the one that notes show
    **{"EUR": "€", "GBP": "£", "JPY": "¥", "USD": "$", "US$": "$", "INR": "₹", "FR": "CHF"},
    **{"BRL": "R$", "AUD": "A$", "CAD": "C$", "PLN": "zł", "ZŁ": "zł", "CZK": "Kč", "KČ": "Kč"},
    **{"HUF": "Ft", "FT": "Ft", "KR": "kr"},
}
CODES = {
    *("ean", "gtin", "upc", "isbn", "issn", "asin", "mpn", "sku", "barcode", "code", "codes"),
    *("model", "modell", "modelo", "modèle", "style", "ref", "reference", "zip", "postcode"),
    *("plz", "phone", "tel", "telefon", "fax", "id", "ids", "no", "nr", "num", "serial", "lot"),
}
CODE_ENDINGS = ("number", "nummer", "code", "ean", "gtin", "sku")
OBVIOUS, CERTAIN = 0.5, 0.9  # shares of cells: of a column for prices, and of any
SIGNS = re.compile(r"[+\-−]")


def _pattern(decimal: str) -> re.Pattern[str]:
    """Match a number with a decimal sign and groups of three.

    1,00,000 is one in India.
    """
    group = re.escape(GROUPS + ("," if decimal == "." else "."))
    indian = r"\d{1,2}(?:,\d{2})+,\d{3}|" if decimal == "." else ""
    whole = rf"{indian}\d{{1,3}}(?P<group>[{group}])\d{{3}}(?:(?P=group)\d{{3}})*|\d*"
    part = rf"{re.escape(decimal)}(?:(?P<part>\d+)|[-–—]{{0,2}})"
    return re.compile(rf"(?P<sign>[+\-−]?)(?P<whole>{whole})(?:{part})?", re.ASCII)


PATTERNS = {decimal: _pattern(decimal) for decimal in ".,"}


@dataclass(slots=True)
class NumberColumn:
    """A reader of a column's numbers, with counts of other cells."""

    decimal: str = "."
    texts: int = 0
    example: str = ""  # a cell that stays a text
    currencies: Counter[str] = field(default_factory=Counter)

    def read(self, cell: str) -> int | float | str:
        """Return a cell's number; the text of one without."""
        number = parse(cell, self.decimal)
        if number is None:
            self.texts += 1
            self.example = self.example or cell
            return cell
        if currency := _split_currency(cell)[1]:
            self.currencies[_name_currency(currency)] += 1
        return number

    def describe(self, column: str) -> list[str]:
        """Describe lost currencies, and cells without a number."""
        notes = list[str]()
        if self.texts:
            notes.append(
                f"{column!r}: {self.texts:,} cells are no numbers and stay texts, such as "
                f"{self.example!r:.60}"
            )
        if self.currencies:
            names = " and ".join(sorted(self.currencies))
            several = ": part them into columns" if len(self.currencies) > 1 else ""
            notes.append(f"{column!r}: numbers are stored without {names}{several}")
        return notes


def parse(cell: str, decimal: str = ".") -> int | float | None:
    """Return a cell's number; None for another text.

    >>> [parse(cell) for cell in ("12", "-1.50", "$1,299.00", "1'299", "007", "1e5", "12 cm", "-")]
    [12, -1.5, 1299.0, 1299, None, None, None, None]
    >>> [parse(cell, ",") for cell in ("12,50 €", "1.299", "12,-", "CHF 1’299,00", "1.5")]
    [12.5, 1299, 12, 1299.0, None]
    """
    match = PATTERNS[decimal].fullmatch(_split_currency(cell)[0])
    if match is None:
        return None
    whole, part = re.sub(r"\D", "", match["whole"]), match["part"]
    if not (whole or part) or len(whole) > MOST_DIGITS or len(part or "") > MOST_DIGITS:
        return None
    if len(whole) > 1 and whole.startswith("0"):
        return None  # a code
    sign = -1 if match["sign"] in ("-", "−") else 1
    return sign * int(whole) if part is None else sign * float(f"{whole or 0}.{part or 0}")


def _split_currency(cell: str) -> tuple[str, str]:
    """Split a cell into its amount and its currency.

    >>> _split_currency("12,50 EUR"), _split_currency("-€ 5"), _split_currency("12 cm")
    (('12,50', 'EUR'), ('-5', '€'), ('12 cm', ''))
    """
    text = cell.strip()
    sign, rest = (text[0], text[1:].lstrip()) if SIGNS.match(text) else ("", text)
    for name in (_leading(rest), _trailing(rest)):
        if name and (name.upper() in CURRENCIES or _is_sign(name)):
            amount = rest.removeprefix(name).removesuffix(name).strip()
            return sign + amount, name
    return text, ""


def _leading(text: str) -> str:
    match = re.match(r"[^\d\s.,+\-−'’]+\.?", text)
    return match[0] if match else ""


def _trailing(text: str) -> str:
    match = re.search(r"[^\d\s.,+\-−'’–—]+\.?$", text)
    return match[0] if match else ""


def _is_sign(name: str) -> bool:
    return len(name) == 1 and unicodedata.category(name) == "Sc"


@dataclass(frozen=True, slots=True)
class Guess:
    """The decimal sign of a column, None for texts, and a note."""

    decimal: str | None = None
    note: str = ""


def guess(name: str, cells: Iterable[str], hint: str = ".") -> Guess:
    """Guess whether a column's texts are numbers.

    `hint` is the decimal sign where they leave it open. Of a column for prices half of the cells
    must be numbers, of others nearly all.
    """
    texts = [text for cell in cells if (text := cell.strip()) and text.casefold() not in NOTHING]
    if not texts or is_code(name) or names_by_number(name) or all(map(is_barcode, texts)):
        return Guess()
    decimal = guess_decimal(texts, hint)
    count = sum(parse(text, decimal) is not None for text in texts)
    if count <= len(texts) * OBVIOUS:
        return Guess()
    if not _is_price(name) and (code := next(filter(_has_leading_zero, texts), None)):
        return Guess(
            note=f"{name!r} has digits with a leading zero, such as {code!r:.60}, and stays texts: "
            "name it in `numbers` of a mapping file (--map) to read the others as numbers"
        )
    if len(currencies := _currencies(texts)) > 1:
        names = " and ".join(sorted(currencies))
        return Guess(note=f"{name!r} has amounts in {names}, and stays texts")
    if count < len(texts) * CERTAIN and not _is_price(name):
        return Guess(
            note=f"{name!r}: {count:,} of the first {len(texts):,} cells are numbers, and it stays "
            "texts: name it in `numbers` of a mapping file (--map) to read them"
        )
    return Guess(decimal)


def guess_decimal(texts: Iterable[str], hint: str = ".") -> str:
    """Return the decimal sign with most numbers; of both, the hint."""
    texts = list(texts)
    counts = {
        decimal: sum(parse(text, decimal) is not None for text in texts) for decimal in PATTERNS
    }
    if counts["."] == counts[","]:
        return hint
    return max(counts, key=counts.__getitem__)


def _currencies(texts: Sequence[str]) -> set[str]:
    names = {name for text in texts if (name := _split_currency(text)[1])}
    return set(map(_name_currency, names))


def _name_currency(name: str) -> str:
    """Name a currency alike, by a sign or a code.

    >>> [_name_currency(name) for name in ("€", "eur", "USD", "Fr.", "CHF", "SEK")]
    ['€', '€', '$', 'CHF', 'CHF', 'SEK']
    """
    code = name.upper().removesuffix(".")
    return SAME.get(code, code)


def is_code(name: str) -> bool:
    """Return whether a column's name is one of codes.

    >>> [is_code(n) for n in ("EAN", "Artikelnummer", "Model No.", "modelYear", "Number of seats")]
    [True, True, True, False, False]
    """
    last = _words(name)[-1:]
    return any(word in CODES or word.endswith(CODE_ENDINGS) for word in last)


def _is_price(name: str) -> bool:
    return not PRICES.isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    """Split a column's name into words, also at capital letters."""
    parts = re.sub(r"(?<=[a-zà-ÿ])(?=[A-Z])", " ", name)
    return [word.casefold() for word in re.findall(r"[^\W\d_]+", parts)]


def _has_leading_zero(text: str) -> bool:
    return len(text) > 1 and text.startswith("0") and text.isascii() and text.isdigit()
