"""Layouts of corpora on disk, and the reader of each."""

from __future__ import annotations

from pathlib import Path

from training.data import flickr8k, jsonl, karpathy
from training.data.corpus import Corpus


def read(path: Path, images: Path | None = None) -> Corpus:
    """Read a corpus from its folder or its file.

    The file is a .json or .jsonl.

    A folder holds captions.json, one dataset_*.json in Karpathy's format, or one .jsonl file.
    `images` is the photos' folder if it is not next to the file. Raises LookupError for a path
    without a corpus, ValueError, with the place, for an unreadable row.
    """
    file = path if path.is_file() else find_corpus(path)
    if file.suffix == ".jsonl":
        return jsonl.read(file, images)
    if file.name.startswith("dataset"):
        return karpathy.read(file, images)
    return flickr8k.read(file, images)


def find_corpus(folder: Path) -> Path:
    """Find the one corpus file of a folder."""
    if not folder.is_dir():
        raise LookupError(f"there is no folder {folder}")
    for pattern in ("captions.json", "dataset_*.json", "*.jsonl"):
        files = sorted(folder.glob(pattern))
        if len(files) > 1:
            names = ", ".join(file.name for file in files)
            raise LookupError(f"{folder} holds several corpora, {names}: name one of them")
        if files:
            return files[0]
    raise LookupError(
        f"{folder} holds no corpus: expected captions.json, dataset_*.json (Karpathy's format) "
        "or a .jsonl file of image, sentences, split"
    )
