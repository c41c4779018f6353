"""Searches a folder of photos and screenshots by the text in them.

    python -m benchmarks.photos.text_search --screenshots 12

The folder has the demonstration's photos, signs in photos, screenshots of phones with other words
each, and shopping lists that name what the photos show. It is imported as by `tessera index` with
TESSERA_OCR. Each weight of text answers these questions by its first hit: two words of a
screenshot, the words of a sign, and what a photo shows, which a list names too.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from time import perf_counter

from PIL import Image, ImageDraw, ImageFont

from app.answers.photos import search_images
from app.engine.engine import Engine
from app.imports.folder import find
from app.imports.photo_decoders import Allowance, Decoders
from app.imports.photo_files import FileReading
from app.imports.storing import import_sources
from app.schemas.search import ImageSearch
from app.settings import Settings
from benchmarks.photos.signs import SIGNS, PictureWithText, draw_screenshot, draw_sign
from benchmarks.photos.text_reading import FONT, PHOTOS
from index.photos import words
from index.photos.visible_text import TEXT

Questions = Mapping[str, str]  # the right photos' names, by text
SHOWN = (
    *("asparagus", "avocados", "bananas", "cabbages", "carrots", "cucumbers", "garlic", "leeks"),
    *("lemons", "milk", "mushrooms", "onions", "oranges", "pears", "tomatoes", "watermelons"),
)
PHONE, LINES, LETTERS = (1080, 2340), 6, 48


def write_photos(folder: Path, count: int, font: Path) -> dict[str, Questions]:
    """Write the folder; return the kinds of questions."""
    folder.mkdir()
    photos = {shown: f"DSC_{number:04}.jpg" for number, shown in enumerate(SHOWN)}
    for shown, name in photos.items():
        shutil.copy(PHOTOS / f"{shown}.jpg", folder / name)
    ground = Image.open(PHOTOS / "bridge.jpg").resize((2400, 1800))
    signs = [draw_sign(sign, ground, 0.04, at, font) for at, sign in enumerate(SIGNS)]
    shots = [draw_screenshot(at, PHONE, LETTERS, LINES, font) for at in range(count)]
    for picture in (*signs, *shots):
        (folder / picture.name).write_bytes(picture.write())
    for at in range(0, len(SHOWN), 8):
        shopping = draw_list(SHOWN[at : at + 8], font)
        shopping.save(folder / f"Screenshot_20250101-10101{at // 8}.png")
    return {
        "two words of a screenshot": {
            " ".join(pair): shot.name for shot in shots if (pair := choose_pair(shot, shots))
        },
        "words of a sign": {" ".join(sign.words): sign.name for sign in signs},
        "what a photo shows": photos,
    }


def draw_list(things: Sequence[str], font: Path) -> Image.Image:
    """Draw a screenshot of a list of things."""
    image = Image.new("RGB", PHONE, "white")
    letters = ImageFont.truetype(str(font), LETTERS)
    ImageDraw.Draw(image).text((60, 200), "\n".join(things), "black", letters, spacing=40)
    return image


def choose_pair(shot: PictureWithText, shots: Sequence[PictureWithText]) -> tuple[str, str] | None:
    """Choose two words of no other screenshot together."""
    others = [set(other.words) for other in shots if other is not shot]
    for pair in combinations(dict.fromkeys(shot.words), 2):
        if not any(other.issuperset(pair) for other in others):
            return pair
    return None


def count_right(engine: Engine, questions: Questions) -> int:
    """Count the questions with a right first hit."""
    right = 0
    for text, name in questions.items():
        (hit, *_) = search_images(
            engine, ImageSearch.model_validate({"text": text, "limit": 1}), None
        ).hits
        right += hit.id.rpartition("/")[2] == name
    return right


def main() -> None:
    """Import the folder, and print a line for each weight."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--screenshots", type=int, default=12)
    parser.add_argument("--font", type=Path, default=FONT, help="a TrueType font with accents")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "photos")
        kinds = write_photos(folder, options.screenshots, options.font)
        settings = Settings(
            data=Path(place, "data"), captioner=None, region_captioner=None, grounder=None, ocr=True
        )
        engine, started = Engine.load(settings), perf_counter()
        with Decoders(2, Allowance.of(settings)) as decode:
            sources = find([folder], reading=FileReading.of(settings))
            most, batch = settings.upload_bytes, settings.batch
            stored = sum(
                outcome.status == "stored"
                for outcome in import_sources(
                    engine, "default", sources, decode=decode, most_bytes=most, batch=batch
                )
            )
        print(f"{stored} photos stored in {perf_counter() - started:.0f} s", flush=True)
        engine.serve()
        for weight in (0.0, 0.25, 0.5, 1.0):
            words.FIELDS = {**words.FIELDS, TEXT: weight}
            right = (
                f"{count_right(engine, kinds[kind])} of {len(kinds[kind])} {kind}" for kind in kinds
            )
            print(f"weight {weight:.2f}: {', '.join(right)}", flush=True)
        engine.close()


if __name__ == "__main__":
    main()
