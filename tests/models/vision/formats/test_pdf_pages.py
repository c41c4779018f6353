"""Pages of PDFs are photos, within limits; broken ones have reasons."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from benchmarks.photos.files import write_pdf
from index.items import MOST_PHOTOS
from models.vision.formats.kinds import kind_of
from models.vision.formats.pdf_pages import MOST_PAGES, read_pdf
from models.vision.photo_decoding import ImageError

COLOURS = ((255, 0, 0), (0, 255, 0), (0, 0, 255))


def pdf_of(*sizes: tuple[int, int]) -> bytes:
    pages = [np.asarray(Image.new("RGB", size, COLOURS[at % 3])) for at, size in enumerate(sizes)]
    return write_pdf(*pages, title="Report")


def test_pages_are_photos_in_order_upright_and_of_the_size_asked_for() -> None:
    data = pdf_of((200, 100), (100, 200))
    assert kind_of(data) == "pdf"
    pdf = read_pdf(BytesIO(data), longest=64)
    assert [photo.pixels.shape for photo in pdf.photos] == [(32, 64, 3), (64, 32, 3)]
    assert (pdf.pages, pdf.title) == (2, "Report")
    for photo, colour in zip(pdf.photos, COLOURS, strict=False):
        assert photo.pixels[16, 16].tolist() == pytest.approx(colour, abs=6)
        assert photo.notes == ()


def test_pages_behind_the_last_one_are_named() -> None:
    pdf = read_pdf(BytesIO(pdf_of(*[(20, 20)] * 5)), longest=16, most=2)
    assert len(pdf.photos) == 2
    assert pdf.photos[-1].notes == ("only the first 2 of 5 pages were used",)
    assert MOST_PAGES <= MOST_PHOTOS


@pytest.mark.parametrize("data", [b"%PDF-1.7", pdf_of((20, 20))[:200]])
def test_a_broken_pdf_has_a_reason(data: bytes) -> None:
    with pytest.raises(ImageError, match="the PDF is broken or has a password"):
        read_pdf(BytesIO(data), longest=16)


def test_a_page_that_is_a_line_is_drawn() -> None:
    (photo,) = read_pdf(BytesIO(pdf_of((2_000, 1))), longest=64).photos
    assert photo.pixels.shape[1] == 64
