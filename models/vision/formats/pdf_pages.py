"""PDFs: their first pages as photos, and their title."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO

from models.vision.photo_decoding import Decoded, ImageError, ImageTooLarge

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MOST_PAGES = 50  # as many photos as an item has
turn = Lock()  # PDFium is for one thread at a time


@dataclass(frozen=True, slots=True)
class Pdf:
    """The first pages as photos, the number of all, a title."""

    photos: tuple[Decoded, ...]
    pages: int
    title: str


def read_pdf(file: BinaryIO, longest: int, most: int = MOST_PAGES) -> Pdf:
    """Draw the first `most` pages, with `longest` pixels a side.

    The last photo notes that pages were left out. ImageError for a broken PDF, or one with a
    password, and ImageTooLarge where memory is short.
    """
    from pypdfium2 import PdfDocument, PdfiumError  # few files need its library

    with turn:
        try:
            document = PdfDocument(file)
        except PdfiumError as broken:
            raise ImageError(
                f"the PDF is broken or has a password ({broken}); save it without"
            ) from broken
        try:
            return _read(document, longest, most)
        except MemoryError as short:
            raise ImageTooLarge("the PDF takes more memory than there is") from short
        except PdfiumError as broken:
            raise ImageError(f"a page of the PDF is broken ({broken})") from broken
        finally:
            document.close()


def _read(document: PdfDocument, longest: int, most: int) -> Pdf:
    count = len(document)
    if not count:
        raise ImageError("the PDF has no pages")
    photos = [_draw(document, number, longest) for number in range(min(count, most))]
    if count > most:
        note = f"only the first {most} of {count:,} pages were used"
        photos[-1] = Decoded(photos[-1].pixels, (note,))
    return Pdf(tuple(photos), count, document.get_metadata_value("Title"))


def _draw(document: PdfDocument, number: int, longest: int) -> Decoded:
    page = document[number]
    try:
        bitmap = page.render(scale=longest / max(1.0, *page.get_size()), rev_byteorder=True)
        pixels = bitmap.to_numpy()[:, :, :3].copy()  # its own memory is freed
        bitmap.close()
    finally:
        page.close()
    return Decoded(pixels)
