"""Product exports of Shopify: a product's rows share its first row's cells.

A row is a variant, or one more photo of the product. Columns as Shopify's help has them under
"Using CSV files to import and export products", in the layouts before and since 2025.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.imports.tables.formats import Cells, Row

HANDLES = ("handle", "urlhandle")
SKUS = ("variantsku", "sku")
PHOTOS = ("imagesrc", "productimageurl")
VARIANT_PHOTOS = ("variantimage", "variantimageurl")
OF_PRODUCT = re.compile(
    r"title|bodyhtml|description|vendor|(product)?category|(standard|custom)?(product)?type|tags|"
    r"published(ononlinestore)?|status|giftcard|collection|option[123]name|option[123]linkedto|"
    r"seo(title|description)|googleshopping.*|.*productmetafields.*"
)
OF_PHOTO = re.compile(r"(url)?handle|imagesrc|productimageurl|image(position|alttext)")
DEFAULT_TITLE = "Default Title"  # the value of products with one variant
MOST_ROWS = 2_500  # of a product that are held at a time: 2,048 variants and 250 photos
MOST_BYTES = 2**25


@dataclass(frozen=True, slots=True)
class ProductExport:
    """The columns of an export; folds its rows."""

    handle: str
    photo: str
    sku: str | None
    variant_photo: str | None
    options: tuple[tuple[str, str], ...]  # names of columns with an option's name and value
    of_product: tuple[str, ...]
    of_photo: frozenset[str]

    @classmethod
    def recognize(cls, header: Sequence[str]) -> ProductExport | None:
        """Return the columns of an export; None for another table."""
        plain = {simplify(column): column for column in reversed(header)}

        def find(names: Sequence[str]) -> str | None:
            return next((plain[name] for name in names if name in plain), None)

        handle, photo = find(HANDLES), find(PHOTOS)
        if handle is None or photo is None or not {"title", "option1name"} <= plain.keys():
            return None
        numbers = [n for n in "123" if {f"option{n}name", f"option{n}value"} <= plain.keys()]
        return cls(
            handle,
            photo,
            find(SKUS),
            find(VARIANT_PHOTOS),
            tuple((plain[f"option{n}name"], plain[f"option{n}value"]) for n in numbers),
            tuple(column for column in header if OF_PRODUCT.fullmatch(simplify(column))),
            frozenset(column for column in header if OF_PHOTO.fullmatch(simplify(column))),
        )

    def describe(self) -> str:
        """Describe the folding in a note."""
        return (
            "it is an export of Shopify: variants take the title and what else is of the product "
            f"from the first row of their {self.handle!r}, which takes the photos of all rows; "
            f"without {self.sku or 'a SKU'!r} the id is the {self.handle!r} with the options"
        )

    def has_photo_alone(self, row: Cells) -> bool:
        """Return whether a row has nothing but one more photo."""
        return not any(cell.strip() for key, cell in row.items() if key not in self.of_photo)

    def fold(self, rows: Iterator[Row], *, name_options: bool) -> Iterator[Row]:
        """Fold the rows of each product, perhaps with options under their names."""
        product = _Product(self, name_options=name_options)
        for number, cells in rows:
            handle = "" if isinstance(cells, str) else cells[self.handle].strip()
            if not handle or handle != product.handle:
                yield from product.end()
                product = _Product(self, handle, name_options=name_options)
            if isinstance(cells, str):
                yield number, cells
            else:
                yield from product.add(number, cells)
        yield from product.end()


@dataclass(slots=True)
class _Product:
    """The rows of a product, until they are known together."""

    columns: ProductExport
    handle: str = ""
    name_options: bool = True
    _rows: list[tuple[int, Cells]] = field(default_factory=list)
    _size: int = 0
    _first: tuple[int, Cells] = (0, {})

    def add(self, number: int, cells: Cells) -> Iterator[Row]:
        """Hold a row; yield those before if they are too many."""
        if len(self._rows) == MOST_ROWS or self._size > MOST_BYTES:
            yield from self.end()
        self._first = self._first if self._first[1] else (number, cells)
        self._rows.append((number, cells))
        self._size += sum(map(len, cells.values()))

    def end(self) -> Iterator[Row]:
        """Yield the product's variants; rows with photos alone end in the first."""
        columns, shared = self.columns, self._first[1]
        photos = [photo for _, row in self._rows if (photo := row[columns.photo].strip())]
        for number, cells in self._rows:
            is_first = number == self._first[0]
            if not is_first and columns.has_photo_alone(cells):
                continue
            row = {**cells}
            for column in columns.of_product:
                row[column] = cells[column].strip() or shared[column].strip()
            own = cells[columns.variant_photo].strip() if columns.variant_photo else ""
            others = photos if is_first else photos[: not own]
            row[columns.photo] = [own, *others] if own else others
            yield number, self._name(row, is_first=is_first)
        self._rows, self._size = [], 0

    def _name(self, row: dict[str, Any], *, is_first: bool) -> Cells:
        """Name a variant without an id, and its options."""
        options = [
            (name, value, chosen)
            for name, value in self.columns.options
            if (chosen := row[value].strip()) and chosen != DEFAULT_TITLE
        ]
        sku = self.columns.sku
        if sku and not row[sku].strip():
            chosen = [] if is_first else [chosen for _, _, chosen in options]
            row[sku] = "-".join((self.handle, *chosen))
        if self.name_options:
            named = {row[name]: chosen for name, _, chosen in options if row[name]}
            if named.keys().isdisjoint(row):
                others = {column for pair in self.columns.options for column in pair}
                return {key: cell for key, cell in row.items() if key not in others} | named
        return row


def simplify(column: str) -> str:
    """Return a column's name without signs and capitals."""
    return re.sub(r"[\W_]", "", column.casefold())
