"""Layouts of corpora on disk, and the reader of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from training.data import coco, flickr8k, jsonl, karpathy, tables
from training.data.corpus import Corpus

PATTERNS = (
    *("captions.json", "dataset_*.json", "*.jsonl", "captions_*.json", "*.csv", "*.tsv"),
    *("captions.txt", "annotations/captions_*.json"),
)
LAYOUTS = (
    "a .jsonl file of image, sentences, split; a .csv or .tsv of image, sentence, split, or "
    "captions.txt; dataset_*.json (Karpathy's format), captions_*.json (COCO's, also in "
    "annotations/) or captions.json"
)


def read(path: Path, images: Path | None = None) -> Corpus:
    """Read photos with sentences; count others, and leave them out.

    Errors are those of read_all.
    """
    return read_all(path, images).leave_out_undescribed()


def read_all(path: Path, images: Path | None = None) -> Corpus:
    """Read all photos of a corpus, from its folder or file.

    A folder holds one file of PATTERNS, or several of COCO's. `images` is the photos' folder if it
    is not next to the file. Raises LookupError for a path without a corpus, ValueError, with the
    place, for an unreadable row.
    """
    file = path if path.is_file() else find_corpus(path)
    if file.suffix == ".jsonl":
        return jsonl.read(file, images)
    if file.suffix in tables.SUFFIXES:
        return tables.read(file, images)
    if file.suffix != ".json":
        raise ValueError(f"{file} is no corpus: expected {LAYOUTS}")
    if file.name.startswith("dataset"):
        return karpathy.read(file, images)
    content = read_json(file)
    if isinstance(content, dict) and "annotations" in content:
        return coco.read(file, images, content)
    return flickr8k.read(file, images)


def read_json(file: Path) -> Any:
    """Read a .json file; None for a broken one."""
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except ValueError:
        return None


def find_corpus(folder: Path) -> Path:
    """Find the one corpus file of a folder."""
    if not folder.is_dir():
        raise LookupError(f"there is no file or folder {folder}")
    for pattern in PATTERNS:
        files = sorted(folder.glob(pattern))
        if len(files) > 1 and set(files) != set(coco.list_parts(files[0])):
            names = ", ".join(file.name for file in files)
            raise LookupError(f"{folder} holds several corpora, {names}: name one of them")
        if files:
            return files[0]
    raise LookupError(f"{folder} holds no corpus: expected {LAYOUTS}")
