"""Product exports of Shopify: a product's rows share its first row's cells.

A row is a variant, or one more photo of the product. Columns as Shopify's help has them under
"Using CSV files to import and export products", in the layouts before and since 2025.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.imports.sources import digest_text
from app.imports.tables.columns import KNOWN, find_id, names_photos, names_sentences, simplify
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
DEFAULT_TITLE = "Default Title"  # the option's value of products with one variant
READ_OTHERWISE = {*KNOWN, *(name for names in KNOWN.values() for name in names)}
MOST_ROWS = 2_500  # of a product, which has 2,048 variants and 250 photos at most
MOST_BYTES = 2**25


@dataclass(frozen=True, slots=True)
class ProductExport:
    """The columns of an export; folds its rows."""

    handle: str
    title: str
    sku: str
    photo: str
    variant_photo: str | None
    options: tuple[tuple[str, str], ...]  # names of columns with an option's name and value
    of_product: tuple[str, ...]
    of_photo: frozenset[str]

    @classmethod
    def recognize(cls, header: Sequence[str], chosen_id: str | None) -> ProductExport | None:
        """Return the columns of an export; None for another table."""
        plain = {simplify(column): column for column in reversed(header)}

        def find(names: Sequence[str]) -> str | None:
            return next((plain[name] for name in names if name in plain), None)

        handle, sku, photo = map(find, (HANDLES, SKUS, PHOTOS))
        numbers = [n for n in "123" if {f"option{n}name", f"option{n}value"} <= plain.keys()]
        if not (handle and sku and photo and numbers and "title" in plain):
            return None
        if (chosen_id or find_id(header)) != sku:
            return None
        return cls(
            handle,
            plain["title"],
            sku,
            photo,
            find(VARIANT_PHOTOS),
            tuple((plain[f"option{n}name"], plain[f"option{n}value"]) for n in numbers),
            tuple(column for column in header if OF_PRODUCT.fullmatch(simplify(column))),
            frozenset(column for column in header if OF_PHOTO.fullmatch(simplify(column))),
        )

    def describe(self) -> str:
        """Describe the folding in a note."""
        return (
            "it is an export of Shopify: rows without a title are variants and photos of the "
            f"product with their {self.handle!r} before them; without {self.sku!r} the id is the "
            f"{self.handle!r} with the options"
        )

    def fold(self, rows: Iterator[Row], *, name_options: bool) -> Iterator[Row]:
        """Fold the rows of each product, perhaps with options under their names.

        Rows without a title are refused away from their product.
        """
        product, former = _Product(self), set[bytes]()
        for number, cells in rows:
            if isinstance(cells, str):
                yield number, cells
                continue
            handle = cells[self.handle].strip()
            if not handle or handle != product.handle:
                if not cells[self.title].strip():
                    yield number, self._refuse(handle, is_late=digest_text(handle) in former)
                    continue
                yield from product.end(name_options=name_options)
                former.add(digest_text(product.handle))
                product = _Product(self, handle)
            yield from product.add(number, cells)
        yield from product.end(name_options=name_options)

    def _refuse(self, handle: str, *, is_late: bool) -> str:
        if is_late:
            return f"other products are between it and its product {handle!r:.80}: sort the table"
        return f"it has no title, and no row of its product {handle!r:.80} with one is before it"

    def has_photo_alone(self, row: Cells) -> bool:
        """Return whether a row has nothing but one more photo."""
        return not any(cell.strip() for key, cell in row.items() if key not in self.of_photo)

    def name_options(self, row: dict[str, Any]) -> Cells:
        """Put options under their own names, unless these are read otherwise."""
        for name, value in self.options:
            key, chosen = row[name].strip(), row[value].strip()
            if chosen == DEFAULT_TITLE:
                del row[name], row[value]
            elif key and chosen and not self._is_taken(key, row):
                del row[name], row[value]
                row[key] = chosen
        return row

    def _is_taken(self, key: str, row: Cells) -> bool:
        plain = simplify(key)
        taken = plain in READ_OTHERWISE or plain in map(simplify, row)
        return taken or names_photos(key) or names_sentences(key)


@dataclass(slots=True)
class _Product:
    """The rows of a product, until they are known together."""

    columns: ProductExport
    handle: str = ""
    _rows: list[tuple[int, Cells]] = field(default_factory=list)
    _size: int = 0

    def add(self, number: int, cells: Cells) -> Iterator[Row]:
        """Hold a row; refuse one too many."""
        self._size += sum(map(len, cells.values()))
        if len(self._rows) == MOST_ROWS or self._size > MOST_BYTES:
            yield number, f"its product {self.handle!r:.80} has over {MOST_ROWS:,} rows, or 32 MB"
            return
        self._rows.append((number, cells))

    def end(self, *, name_options: bool) -> Iterator[Row]:
        """Yield the product's variants; rows with photos alone end in the first."""
        columns = self.columns
        for place, (number, cells) in enumerate(self._rows):
            if cells[columns.title].strip():
                row = {**cells}
            elif columns.has_photo_alone(cells):
                continue
            else:
                row = self._fill(cells)
            if place == 0 and (others := self._list_others()):
                row[columns.photo] = [cells[columns.photo].strip(), *others]
            if not row[columns.sku].strip():
                row[columns.sku] = self._make_id(row)
            yield number, columns.name_options(row) if name_options else row

    def _list_others(self) -> list[str]:
        """List the photos of rows without a title."""
        title, photo = self.columns.title, self.columns.photo
        others = (row[photo].strip() for _, row in self._rows if not row[title].strip())
        return list(filter(None, others))

    def _fill(self, cells: Cells) -> dict[str, Any]:
        """Fill a variant's cells, and its photo."""
        columns, first = self.columns, self._rows[0][1]
        row = {**cells}
        for column in columns.of_product:
            row[column] = cells[column].strip() or first[column].strip()
        own = columns.variant_photo and cells[columns.variant_photo].strip()
        row[columns.photo] = "" if own else first[columns.photo]
        return row

    def _make_id(self, row: Cells) -> str:
        chosen = [text for _, value in self.columns.options if (text := row[value].strip())]
        return "-".join((self.handle, *(text for text in chosen if text != DEFAULT_TITLE)))
