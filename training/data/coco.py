"""Reader of COCO's captions: {images: [{id, file_name}], annotations: [{image_id, caption}]}."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training.data.corpus import SPLITS, Corpus, Example, sentences_of, split_of, text_of
from training.data.karpathy import FOLDERS, find_photos

NAMED = re.compile(rf"(?<![a-z])({'|'.join(SPLITS)})(?![a-z])")  # the split in a file's name


def read(file: Path, images: Path | None = None, content: Any = None) -> Corpus:
    """Read a captions_train2017.json, and those of other splits next to it.

    The split is a photo's own, else that in the file's name, else train. Photos are next to the
    file, or in a folder such as train2017. `content` is the file's, if it is read already.
    ValueError names a bad photo.
    """
    parts = {part: content if part == file else None for part in list_parts(file)}
    rows = (row for part in parts for row in read_part(part, images, parts[part]))
    return Corpus.of(file.stem, rows)


def list_parts(file: Path) -> list[Path]:
    """List a file and its namesakes of other splits."""
    others = [file.with_name(NAMED.sub(split, file.name)) for split in SPLITS]
    return [part for part in dict.fromkeys(others) if part.is_file()] or [file]


def read_part(
    file: Path, images: Path | None, content: Any = None
) -> Iterator[tuple[str, Example]]:
    """Read the photos of a file, each with its split."""
    sentences: defaultdict[Any, list[Any]] = defaultdict(list)
    try:
        content = content or json.loads(file.read_text(encoding="utf-8-sig"))
        for annotation in content["annotations"]:
            sentences[annotation["image_id"]].append(annotation["caption"])
        rows = [(row, sentences[row["id"]]) for row in content["images"]]
        names = [text_of(row, "file_name") for row, _ in rows]
    except (KeyError, TypeError, ValueError) as broken:
        raise ValueError(f"{file} is not COCO's images and annotations: {broken!r}") from broken
    subset = file.stem.removeprefix("captions_")  # such as val2017
    folders = (*FOLDERS, subset, f"../{subset}", "../images")
    folder = images or find_photos(file.parent, names, folders)
    named = NAMED.search(file.name)
    for (row, captions), name in zip(rows, names, strict=True):
        try:
            texts = sentences_of({"captions": captions}, "captions")
            yield split_of(row, named[0] if named else "train"), Example(name, folder / name, texts)
        except ValueError as wrong:
            raise ValueError(f"{file}, photo {name}: {wrong}") from wrong
