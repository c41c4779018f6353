"""Reader of Karpathy's dataset_*.json: {images: [{filename, split, sentences: [{raw}]}]}."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from training.data.corpus import Corpus, Example, sentences_of, split_of, text_of

# Usual folders of photos, relative to the file.
FOLDERS = (".", "images", "Images", "Flicker8k_Dataset", "flickr30k-images", "flickr30k_images")

FIRST = 20  # photos that are looked for


def read(file: Path, images: Path | None = None) -> Corpus:
    """Read a dataset_flickr8k.json, dataset_flickr30k.json or dataset_coco.json."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8-sig"))["images"]
        names = [
            str(Path(row.get("filepath", ""), row.get("filename", ""))) for row in rows[:FIRST]
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as broken:
        raise ValueError(f"{file} is not JSON with a list 'images': {broken!r}") from broken
    folder = images or find_photos(file.parent, names)
    return Corpus.of(file.stem.removeprefix("dataset_"), parse_rows(file, rows, folder))


def find_photos(parent: Path, names: Sequence[str], folders: Sequence[str] = FOLDERS) -> Path:
    """Find the first folder with one of the first photos, else images/."""
    for folder in folders:
        if any((parent / folder / name).is_file() for name in names[:FIRST]):
            return parent / folder
    return parent / "images"


def parse_rows(
    file: Path, rows: list[dict[str, Any]], folder: Path
) -> Iterator[tuple[str, Example]]:
    """Each row's split and example."""
    for position, row in enumerate(rows):
        try:
            name = text_of(row, "filename")
            raw = {"sentences": [sentence.get("raw") for sentence in row.get("sentences", [])]}
            image = folder / row.get("filepath", "") / name
            yield split_of(row), Example(name, image, sentences_of(raw, "sentences"))
        except (ValueError, AttributeError) as wrong:
            raise ValueError(f"{file}, photo {position}: {wrong}") from wrong
