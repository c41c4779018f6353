"""True boxes of phrases: Flickr30K Entities, and the synthetic scenes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.types import Box, Span
from models.whole_files import BROKEN_GZIP
from training.data.digests import digest

FILES = ("entities.json.gz", "entities.json")
LAYOUT = (
    "a .json or .json.gz of {photo's file name: {w, h, boxes, sentences}}, such as "
    "entities.json.gz of `tessera scenes`"
)


@dataclass(frozen=True, slots=True)
class TruePhrase:
    """A phrase of a sentence, its place in the text, and its boxes."""

    text: str
    span: Span
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class GroundedSentence:
    """A sentence and its phrases with boxes; other phrases are left out."""

    text: str
    phrases: tuple[TruePhrase, ...]


GroundTruth = Mapping[str, Sequence[GroundedSentence]]  # by the photo's file name


def find(folder: Path) -> Path | None:
    """The boxes file of a corpus folder, if it has one."""
    return next((folder / name for name in FILES if (folder / name).is_file()), None)


def read(file: Path) -> dict[str, tuple[GroundedSentence, ...]]:
    """Read grounded sentences by file; ValueError names a bad photo.

    The file maps a file name to {w, h, boxes: {id: [[x1, y1, x2, y2], …] in pixels}, sentences:
    [{tokens, phrases: [{id, start, end}]}]}, where tokens[start:end] is the phrase.
    """
    grounded = {}
    for name, row in read_rows(file).items():
        try:
            boxes = {
                key: tuple(fractions(box, row["w"], row["h"]) for box in pixel_boxes)
                for key, pixel_boxes in row["boxes"].items()
            }
            grounded[name] = tuple(
                parse_sentence(annotation, boxes) for annotation in row["sentences"]
            )
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as wrong:
            raise ValueError(f"{file}, photo {name}: {wrong!r}") from wrong
    return grounded


def read_rows(file: Path) -> dict[str, dict[str, Any]]:
    """Read the rows of photos by name; ValueError for another layout."""
    content = file.read_bytes()
    try:
        rows = json.loads(gzip.decompress(content) if file.suffix == ".gz" else content)
    except (ValueError, *BROKEN_GZIP) as broken:
        raise ValueError(f"{file} is not JSON ({broken}): give {LAYOUT}") from broken
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise ValueError(f"{file} holds no true boxes: give {LAYOUT}")
    for name, row in rows.items():
        if missing := sorted({"w", "h", "boxes", "sentences"} - row.keys()):
            raise ValueError(f"{file}, photo {name} lacks {', '.join(missing)}: give {LAYOUT}")
    return rows


def fractions(box: Sequence[float], width: float, height: float) -> Box:
    """Turn a box in pixels into fractions.

    ValueError if it is empty or outside.
    """
    left, top, right, bottom = box
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise ValueError(f"the box {list(box)} is empty or leaves a {width}×{height} photo")
    return Box(left / width, top / height, right / width, bottom / height)


def parse_sentence(row: dict[str, Any], boxes: dict[str, tuple[Box, ...]]) -> GroundedSentence:
    """Parse one sentence: tokens joined by spaces, and phrases with boxes."""
    tokens = row["tokens"]
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token) + 1)
    phrases = []
    for phrase in row["phrases"]:
        start, end = phrase["start"], phrase["end"]
        if not 0 <= start < end <= len(tokens):
            raise ValueError(f"a phrase covers tokens {start}:{end} of {len(tokens)}")
        if phrase["id"] in boxes:
            place = Span(starts[start], starts[end] - 1)
            text = " ".join(tokens[start:end])
            phrases.append(TruePhrase(text, place, boxes[phrase["id"]]))
    return GroundedSentence(" ".join(tokens), tuple(phrases))


def enclose(boxes: tuple[Box, ...]) -> Box:
    """Return the smallest box around boxes."""
    return Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )


def digest_truth(truth: GroundTruth) -> str:
    """Compute a digest of true boxes."""
    return digest(*(f"{name} {list(sentences)!r}" for name, sentences in sorted(truth.items())))


def phrase_boxes(sentences: Iterable[GroundedSentence]) -> Tensor:
    """Return the box around all boxes of each phrase, (P, 4)."""
    return corners([enclose(phrase.boxes) for sentence in sentences for phrase in sentence.phrases])


def corners(boxes: Sequence[Box]) -> Tensor:
    """Boxes as rows (N, 4)."""
    edges = [(box.left, box.top, box.right, box.bottom) for box in boxes]
    return torch.tensor(edges, dtype=torch.float32).view(-1, 4)
