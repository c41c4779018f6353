"""Measures the reading of text in photos: words found, seconds, memory.

    python -m benchmarks.photos.text_reading --each 4
    python -m benchmarks.photos.text_reading --each 4 --side 1280

Words count as found if they are read exactly, but for case and accents. Pictures are read in this
process, on one thread; seconds are of processor time.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from app.imports.file_metadata.reading import FileLimits, enlarge, read_file
from app.imports.photo_files import LIMITS
from benchmarks.photos.signs import PictureWithText, draw_kinds
from index.documents.words import tokens
from models.vision import visible_words

FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")  # of fonts-dejavu-core
PHOTOS = Path(__file__).parents[2] / "app" / "demos" / "photos"


def count_right(words: Sequence[str], read: Sequence[str]) -> tuple[int, int]:
    """Count the words read rightly, and those read without being there."""
    truth = Counter(token.folded for word in words for token in tokens(word))
    answer = Counter(token.folded for word in read for token in tokens(word))
    return (truth & answer).total(), (answer - truth).total()


def read(data: bytes, limits: FileLimits) -> list[str]:
    """Read a file's words as an import does."""
    (pixels,) = enlarge(data, limits, read_file(data, limits))
    return [word.text for word in visible_words.read_words(pixels)]


def measure(kind: str, pictures: Sequence[PictureWithText]) -> None:
    """Print a line about pictures of a kind."""
    right = wrong = words = 0
    started = time.process_time()
    for picture in pictures:
        counts = count_right(picture.words, read(picture.write(), LIMITS))
        right, wrong = right + counts[0], wrong + counts[1]
        words += sum(1 for word in picture.words for _ in tokens(word))
    seconds = (time.process_time() - started) / len(pictures)
    share = f"{right / words:7.1%}" if words else "      -"
    print(f"{kind:36} {share} {wrong / len(pictures):8.2f} {seconds:10.2f}", flush=True)


def main() -> None:
    """Print the table, and the memory of the process."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--each", type=int, default=4, help="pictures of each kind")
    parser.add_argument("--side", type=int, default=visible_words.LONGEST_SIDE)
    parser.add_argument("--photos", type=Path, default=PHOTOS, help="a folder of JPEG files")
    parser.add_argument("--font", type=Path, default=FONT, help="a TrueType font with accents")
    options = parser.parse_args()
    visible_words.LONGEST_SIDE = options.side
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    visible_words.read_words(np.zeros((100, 100, 3), np.uint8))  # loads the networks
    print(f"{'kind':36} {'found':>7} {'not there':>9} {'s a photo':>10}", flush=True)
    plain = [
        PictureWithText(file.name, Image.open(file).convert("RGB").resize((2400, 1800)), ())
        for file in sorted(options.photos.glob("*.jpg"))[: options.each]
    ]
    measure("photos without text", plain)
    for kind, pictures in draw_kinds(options.photos, options.each, options.font).items():
        measure(kind, pictures)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory: {before:.0f} MB before, {most:.0f} MB at most")


if __name__ == "__main__":
    main()
