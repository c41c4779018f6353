"""Small collections of random bags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from index.catalog import Catalog
from index.items import Collection, Entry, Picture
from models.types import Box, FragmentBag, Span

MakeBag = Callable[..., FragmentBag]
MakeEntry = Callable[..., Entry]
DIMENSION = 8


@pytest.fixture
def random() -> torch.Generator:
    return torch.Generator().manual_seed(7)


@pytest.fixture
def image_bag(random: torch.Generator) -> MakeBag:
    def make(fragments: int = 3, dimension: int = DIMENSION) -> FragmentBag:
        boxes = tuple(Box(0.0, 0.0, (i + 1) / fragments, 1.0) for i in range(fragments))
        vectors = torch.randn(fragments, dimension, generator=random)
        return FragmentBag(vectors, boxes, tuple(f"region {i}" for i in range(fragments)))

    return make


@pytest.fixture
def sentence_bag(random: torch.Generator) -> MakeBag:
    def make(fragments: int = 2, dimension: int = DIMENSION) -> FragmentBag:
        spans = tuple(Span(2 * i, 2 * i + 1) for i in range(fragments))
        vectors = torch.randn(fragments, dimension, generator=random)
        return FragmentBag(vectors, spans, tuple("é" * (i + 1) for i in range(fragments)))

    return make


@pytest.fixture
def entry(image_bag: MakeBag, sentence_bag: MakeBag, random: torch.Generator) -> MakeEntry:
    """An item of the given id with one image and some sentences, of random sizes."""

    def make(item: str, *, sentences: int = 2, picture: bool = True, **fields: Any) -> Entry:
        sizes = torch.randint(1, 6, (sentences + 1,), generator=random).tolist()
        return Entry(
            id=item,
            picture=Picture(b"jpeg", 4, 3, "0" * 64) if picture else None,
            image=image_bag(sizes[0]) if picture else None,
            sentences=tuple(f"sentence {i} of {item}" for i in range(sentences)),
            bags=tuple(sentence_bag(size) for size in sizes[1:]),
            **fields,
        )

    return make


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    catalog = Catalog.in_folder(tmp_path / "data")
    yield catalog
    catalog.close()


@pytest.fixture
def collection(catalog: Catalog) -> Collection:
    return catalog.collection(
        "default", fingerprint="model-a", dimension=DIMENSION, score="sum_of_max"
    )
