"""Synthetic scenes: coloured shapes on a textured ground, sentences, true boxes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from models.vision.images import Photo, display_copy
from models.whole_files import name_in_errors

SIDE = 96  # pixels, in two rows and two columns of cells
CELL = SIDE // 2
COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 170, 60),
    "blue": (40, 80, 220),
    "yellow": (235, 215, 50),
    "purple": (150, 50, 190),
    "orange": (240, 140, 30),
}
KINDS = ("circle", "square", "triangle", "cross")


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape, its centre and half its side, in pixels."""

    colour: str
    kind: str
    x: int
    y: int
    radius: int

    @property
    def box(self) -> list[int]:
        """Left, top, right, bottom in pixels."""
        return [
            self.x - self.radius,
            self.y - self.radius,
            self.x + self.radius,
            self.y + self.radius,
        ]


@dataclass(frozen=True, slots=True)
class Scene:
    """Two shapes on their ground."""

    seed: int
    first: Shape
    second: Shape


def make_scene(seed: int) -> Scene:
    """Make a seed's scene: two shapes in two of four cells.

    The shapes are unlike.
    """
    random = Random(seed)  # noqa: S311 - scenes, not secrets
    kinds = random.sample([(colour, kind) for colour in COLOURS for kind in KINDS], 2)
    shapes = []
    for (colour, kind), cell in zip(kinds, random.sample(range(4), 2), strict=True):
        column, row, radius = cell % 2, cell // 2, random.randint(18, 22)
        x, y = (CELL * place + CELL // 2 for place in (column, row))
        shapes.append(Shape(colour, kind, x, y, radius))
    return Scene(seed, *shapes)


def draw(scene: Scene) -> Tensor:
    """The pixels of a scene, uint8 (3, SIDE, SIDE)."""
    generator = torch.Generator().manual_seed(scene.seed)
    coarse = torch.rand(1, 3, 12, 12, generator=generator)
    picture = 90 + 60 * F.interpolate(coarse, (SIDE, SIDE), mode="bilinear")[0]  # (3, SIDE, SIDE)
    for shape in (scene.first, scene.second):
        colour = torch.tensor(COLOURS[shape.colour], dtype=torch.float32)
        picture = torch.where(cover(shape), colour[:, None, None], picture)
    return picture.to(torch.uint8)


def cover(shape: Shape) -> Tensor:
    """Return the pixels of a shape, bool (SIDE, SIDE)."""
    centres = torch.arange(SIDE) + 0.5
    x = ((centres - shape.x) / shape.radius)[None, :]
    y = ((centres - shape.y) / shape.radius)[:, None]
    inside = (x.abs() <= 1) & (y.abs() <= 1)
    outlines = {
        "circle": x**2 + y**2 <= 1,
        "square": inside,
        "triangle": inside & (x.abs() <= (1.2 + y) / 2.2),
        "cross": inside & ((x.abs() <= 0.35) | (y.abs() <= 0.35)),
    }
    return outlines[shape.kind]


def relate(scene: Scene) -> tuple[str, str]:
    """Name the first shape's relation to the second, and its inverse."""
    if scene.first.x != scene.second.x:
        pair = ("left of", "right of")
        return pair if scene.first.x < scene.second.x else pair[::-1]
    return ("above", "below") if scene.first.y < scene.second.y else ("below", "above")


def make_sentences(scene: Scene) -> list[dict[str, Any]]:
    """Write three sentences in an Entities file's form: tokens, phrases by shape."""
    relation, inverse = relate(scene)
    return [
        make_sentence(scene.first, "1", relation, scene.second, "2"),
        make_sentence(scene.second, "2", inverse, scene.first, "1"),
        make_sentence(scene.first, "1", "and", scene.second, "2"),
    ]


def make_sentence(
    shape: Shape, shape_id: str, between: str, other: Shape, other_id: str
) -> dict[str, Any]:
    """One sentence of two phrases, with the ids of their shapes."""
    tokens = ["a", shape.colour, shape.kind, *between.split(), "a", other.colour, other.kind]
    phrases = [
        {"id": shape_id, "start": 0, "end": 3},
        {"id": other_id, "start": len(tokens) - 3, "end": len(tokens)},
    ]
    return {"tokens": tokens, "phrases": phrases}


def write(folder: Path, counts: Mapping[str, int], seed: int = 0) -> None:
    """Write a corpus: scenes.jsonl, images/, entities.json.gz, counts[split] a split."""
    with name_in_errors(folder):
        write_files(folder, counts, seed)


def write_files(folder: Path, counts: Mapping[str, int], seed: int) -> None:
    """Write a corpus's files; errors of a full disk have no name."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    rows, truth = [], {}
    splits = [split for split, count in counts.items() for _ in range(count)]
    for number, split in enumerate(splits):
        picture, name = make_scene(seed * 1_000_003 + number), f"{number:05}.jpg"
        (folder / "images" / name).write_bytes(display_copy(Photo(draw(picture), ())).jpeg)
        grounded = make_sentences(picture)
        boxes = {"1": [picture.first.box], "2": [picture.second.box]}
        truth[name] = {"w": SIDE, "h": SIDE, "boxes": boxes, "sentences": grounded}
        texts = [" ".join(annotation["tokens"]) for annotation in grounded]
        rows.append({"image": f"images/{name}", "sentences": texts, "split": split})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "scenes.jsonl").write_text(lines, encoding="utf-8")
    with gzip.open(folder / "entities.json.gz", "wt") as file:
        json.dump(truth, file)
