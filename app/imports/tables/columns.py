"""Mappings of a table's columns to ids, photos, sentences and metadata."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from app.engine.drafts import TITLES
from app.imports.tables.markup import has_markup
from app.imports.tables.number_cells import Guess, guess, guess_decimal
from app.nearest import nearest, nearest_name

PHOTOS = re.compile(
    r"(additional|product|variant)?(image|photo|picture|img|filename)"
    r"(s|url|urls|link|links|path|src|file)?\d*"
)
IDS = (
    *("id", "itemid", "productid", "articleid", "sku", "variantsku", "itemnumber", "articlenumber"),
    *("productcode", "code", "handle", "urlhandle"),
)
# Names of metadata that searches and pages know, and what columns of them are called.
KNOWN: Mapping[str, Sequence[str]] = {
    "title": ("title", "name", "producttitle", "productname", "productdisplayname", "itemname"),
    "description": ("description", "productdescription", "longdescription", "bodyhtml"),
    "brand": ("brand", "vendor", "manufacturer", "brandname"),
    "price": ("price", "listprice", "unitprice", "variantprice", "regularprice", "saleprice"),
    "stock": (
        *("stock", "inventory", "quantity", "qty", "stocklevel"),
        *("inventoryquantity", "variantinventoryqty"),
    ),
    "group": (
        *("group", "parent", "itemgroupid", "groupid", "parentid", "parentsku"),
        *("handle", "urlhandle"),
    ),
}
TEXTS = {"title", "description", "brand", "group"}  # of these, never numbers
SEPARATOR = "|"
SENTENCES = ("sentences", "captions", "caption")


@dataclass(frozen=True, slots=True)
class Columns:
    """The roles of columns: the value of a mapping file.

    `metadata` maps keys to columns; without it every column that is nothing else is metadata under
    its own name. Cells of `numbers` are numbers where they look like one, those of `commas` with a
    decimal comma, and of `html` the text is stored. `separator` parts the photos of one cell.
    """

    id: str
    photos: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    commas: tuple[str, ...] = ()
    html: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    separator: str = SEPARATOR

    def check(self, header: Sequence[str]) -> None:
        """Raise ValueError for an unknown column, with the nearest name."""
        texts = (*self.photos, *self.sentences, *self.numbers, *self.commas, *self.html)
        for column in (self.id, *texts, *self.metadata.values()):
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
    names = ("id", "photos", "sentences", "numbers", "commas", "html", "metadata", "separator")
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
    header: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    mapping: Mapping[str, Any],
    hint: str = ".",
) -> tuple[Columns, list[str]]:
    """Apply a mapping to columns, and guess the others.

    They are guessed from names and rows. Also returns notes. `hint` is the decimal sign of numbers
    that leave it open. ValueError for a column that is not there, and where no column looks like an
    id.
    """
    roles = {**_guess_roles(header, rows, mapping), **mapping}
    if not roles.get("id"):
        raise ValueError(
            f"no column looks like an id: name it in a mapping file (--map), as in id = "
            f"{json.dumps(header[0] if header else 'sku')}; the first line of the table, which "
            f"names the columns, has {', '.join(header):.1000}"
        )
    notes = list[str]()
    if "numbers" not in mapping:
        texts = {column for key, column in roles["metadata"].items() if key in TEXTS}
        guesses = {
            column: guess(column, _texts(rows, column), hint)
            for column in roles["metadata"].values()
            if column not in texts
        }
        notes += [guessed.note for guessed in guesses.values() if guessed.note]
        roles |= _numbers_of(guesses)
    if "commas" not in roles:
        roles["commas"] = tuple(
            column
            for column in roles["numbers"]
            if guess_decimal(_texts(rows, column), hint) == ","
        )
    columns = Columns(**roles)
    columns.check(header)
    return columns, notes + _note_untitled(columns, header)


def _note_untitled(columns: Columns, header: Sequence[str]) -> list[str]:
    """Write a note on a table without titles, sentences and photos."""
    if columns.photos or columns.sentences or not columns.metadata.keys().isdisjoint(TITLES):
        return []
    texts = [column for column in columns.metadata.values() if column not in columns.numbers]
    title = nearest_name("title", texts) or next(iter(texts), "Title")
    return [
        "no column is taken for a title, a sentence or a photo: name one in a mapping file "
        f"(--map), as in title = {_toml(title)} under [metadata], next to the other columns; "
        f"the table has {', '.join(header):.1000}"
    ]


def _numbers_of(guesses: Mapping[str, Guess]) -> dict[str, tuple[str, ...]]:
    """Return the roles of columns of numbers."""
    signs = {column: guessed.decimal for column, guessed in guesses.items() if guessed.decimal}
    commas = tuple(column for column, sign in signs.items() if sign == ",")
    return {"numbers": tuple(signs), "commas": commas}


def _guess_roles(
    header: Sequence[str], rows: Sequence[Mapping[str, Any]], mapping: Mapping[str, Any]
) -> dict[str, Any]:
    """Guess all roles but those of numbers."""
    plain = {simplify(column): column for column in reversed(header)}
    chosen = mapping.get("id") or find_id(header)
    photos = tuple(c for c in header if names_photos(c) or _holds_photos(rows, c))
    sentences = tuple(plain[name] for name in SENTENCES if name in plain)
    others = {chosen, *mapping.get("photos", photos), *mapping.get("sentences", sentences)}
    left = [column for column in header if column and column not in others]
    keys = {
        column: key
        for key, names in reversed(list(KNOWN.items()))
        if (column := _find_first(plain, names)) in left and (column == key or key not in left)
    }
    return {
        "id": chosen,
        "photos": photos,
        "sentences": sentences,
        "html": tuple(c for c in header if any(map(has_markup, _texts(rows, c)))),
        "metadata": {keys.get(column, column): column for column in left},
    }


def find_id(header: Sequence[str]) -> str | None:
    """Return the column with a name of ids; None without one."""
    return _find_first({simplify(column): column for column in reversed(header)}, IDS)


def names_photos(column: str) -> bool:
    """Return whether a column's name is one of photos."""
    return PHOTOS.fullmatch(simplify(column)) is not None


def names_sentences(column: str) -> bool:
    """Return whether a column's name is one of sentences."""
    return simplify(column) in SENTENCES


def simplify(column: str) -> str:
    """Return a column's name without signs and capitals."""
    return re.sub(r"[\W_]", "", column.casefold())


def _holds_photos(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    """Return whether cells are photos as datasets of Hugging Face have them."""
    cells = (row.get(column) for row in rows)
    return any(isinstance(cell, Mapping) and cell.keys() == {"bytes", "path"} for cell in cells)


def _texts(rows: Sequence[Mapping[str, Any]], column: str) -> Iterator[str]:
    """Yield the texts of a column, without blank ones."""
    for row in rows:
        if isinstance(cell := row.get(column), str) and cell.strip():
            yield cell


def _find_first(plain: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((plain[name] for name in names if name in plain), None)


def _toml(value: str | Collection[str]) -> str:
    return json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)
