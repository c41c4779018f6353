"""Mappings of a table's columns to ids, photos, sentences and metadata."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from app.nearest import nearest
from index.documents.identifiers import is_barcode, names_by_number

NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?")  # no leading zeros: those are of codes
PHOTOS = re.compile(r"(image|photo|picture|img|filename)(s|url|urls|link|links|path|src|file)?\d*")
IDS = (
    *("id", "itemid", "productid", "articleid", "sku", "variantsku", "itemnumber", "articlenumber"),
    *("productcode", "code", "handle"),
)
# Names of metadata that searches and pages know, and what columns of them are called.
KNOWN: Mapping[str, Sequence[str]] = {
    "title": ("title", "name", "producttitle", "productname", "productdisplayname", "itemname"),
    "description": ("description", "productdescription", "longdescription", "bodyhtml"),
    "brand": ("brand", "vendor", "manufacturer", "brandname"),
    "price": ("price", "listprice", "unitprice", "variantprice", "saleprice"),
    "stock": ("stock", "inventory", "quantity", "qty", "stocklevel"),
    "group": ("group", "parent", "itemgroupid", "groupid", "parentid", "parentsku"),
}
SENTENCES = ("sentences", "captions", "caption")


@dataclass(frozen=True, slots=True)
class Columns:
    """The roles of columns: the value of a mapping file.

    `metadata` maps keys to columns; without it every column that is nothing else is metadata under
    its own name. Cells of `numbers` are numbers where they look like one. `separator` parts the
    photos of one cell.
    """

    id: str
    photos: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    separator: str = "|"

    def check(self, header: Sequence[str]) -> None:
        """Raise ValueError for an unknown column, with the nearest name."""
        named = (self.id, *self.photos, *self.sentences, *self.numbers, *self.metadata.values())
        for column in named:
            if column not in header:
                raise ValueError(
                    f"the table has no column {column!r}{nearest(column, header, 'column')}"
                )

    def to_toml(self) -> str:
        """Write the mapping as the text of a mapping file."""
        values = asdict(self)
        metadata = values.pop("metadata")
        lines = [f"{name} = {_toml(value)}" for name, value in values.items() if value != ()]
        pairs = [f"{_toml(key)} = {_toml(column)}" for key, column in metadata.items()]
        return "\n".join([*lines, "[metadata]", *pairs])


def read_mapping(file: Path) -> dict[str, Any]:
    """Read a mapping file; ValueError if it is not valid."""
    try:
        mapping = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as broken:
        raise ValueError(f"{file}: not TOML: {broken}") from broken
    kinds: dict[str, type] = {"id": str, "separator": str, "metadata": dict}
    names = ("id", "photos", "sentences", "numbers", "metadata", "separator")
    for name, value in mapping.items():
        if name not in names:
            raise ValueError(f"{file}: there is no {name!r}{nearest(name, names, 'name')}")
        kind = kinds.get(name, list)
        parts = value.values() if kind is dict and isinstance(value, dict) else value
        if not isinstance(value, kind) or not all(isinstance(column, str) for column in parts):
            raise ValueError(f"{file}: {name} is a {kind.__name__} of column names, got {value!r}")
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in mapping.items()
    }


def map_columns(
    header: Sequence[str], rows: Sequence[Mapping[str, Any]], mapping: Mapping[str, Any]
) -> Columns:
    """Apply a mapping to columns; guess the others from names and rows.

    ValueError for a column that is not there, and where no column looks like an id.
    """
    guessed = {
        name: value for name, value in _guess(header, rows, mapping).items() if name not in mapping
    }
    if not mapping.get("id") and not guessed.get("id"):
        raise ValueError(
            f"no column looks like an id: name it in a mapping file (--map), as in id = "
            f"{json.dumps(header[0] if header else 'sku')}; there are {', '.join(header)}"
        )
    columns = Columns(**{**guessed, **mapping})
    columns.check(header)
    return columns


def parse_number(cell: str) -> int | float | str:
    """A cell as a number if it is written as one.

    >>> [parse_number(cell) for cell in ("12", "1.50", "007", "1e5", "12 cm")]
    [12, 1.5, '007', '1e5', '12 cm']
    """
    if not NUMBER.fullmatch(cell):
        return cell
    return float(cell) if "." in cell else int(cell)


def _guess(
    header: Sequence[str], rows: Sequence[Mapping[str, Any]], mapping: Mapping[str, Any]
) -> dict[str, Any]:
    plain = {re.sub(r"[\W_]", "", column.casefold()): column for column in reversed(header)}
    chosen = mapping.get("id") or _find_first(plain, IDS)
    photos = tuple(c for c in header if PHOTOS.fullmatch(re.sub(r"[\W_]", "", c.casefold())))
    sentences = tuple(plain[name] for name in SENTENCES if name in plain)
    others = {chosen, *mapping.get("photos", photos), *mapping.get("sentences", sentences)}
    left = [column for column in header if column and column not in others]
    keys = {
        column: key
        for key, names in reversed(list(KNOWN.items()))
        if (column := _find_first(plain, names)) in left
    }
    texts = {column for column, key in keys.items() if key not in ("price", "stock")}
    texts |= {column for column in left if names_by_number(column)}
    numbers = tuple(c for c in left if c not in texts and _is_numeric(row.get(c) for row in rows))
    metadata = {keys.get(column, column): column for column in left}
    return {
        "id": chosen,
        "photos": photos,
        "sentences": sentences,
        "numbers": numbers,
        "metadata": metadata,
    }


def _find_first(plain: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((plain[name] for name in names if name in plain), None)


def _is_numeric(cells: Iterable[Any]) -> bool:
    """Return whether a column's texts are numbers, and not barcodes."""
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()]
    return (
        bool(texts)
        and all(NUMBER.fullmatch(text) for text in texts)
        and not all(map(is_barcode, texts))
    )


def _toml(value: str | Collection[str]) -> str:
    return json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)
