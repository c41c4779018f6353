"""Bags as bytes: vectors in half precision, next to labels and places.

Imports torch only where bags are read, so the follower saves its 500 MB.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise, starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.codes import single
from models.types import Box, FragmentBag, Span

IMAGE = -1  # the position of an item's first photo, the next have -2, -3, …; sentences from 0 on
HALF, SINGLE = b"e", b"f"  # the first byte of packed vectors: their NumPy type


def position_of(photo: int) -> int:
    """Return the position of an item's photo by its number from 0.

    >>> [position_of(0), position_of(1), photo_at(position_of(7)), photo_at(0)]
    [-1, -2, 7, None]
    """
    return IMAGE - photo


def photo_at(position: int) -> int | None:
    """Return the photo's number from 0 at a position; None for sentences."""
    return IMAGE - position if position <= IMAGE else None


def pack_vectors(bag: FragmentBag) -> bytes:
    """Pack vectors (F, D) as a type byte and little-endian numbers.

    Row by row.
    Uses half precision if all numbers fit (this keeps rankings, decision 0014), else single.
    """
    vectors = bag.vectors.numpy(force=True)
    with np.errstate(over="ignore"):
        half = vectors.astype("<f2")
    if np.isfinite(half).all():
        return HALF + half.tobytes()
    return SINGLE + vectors.astype("<f4").tobytes()


def unpack_vectors(data: bytes, dimension: int) -> NDArray[np.float32]:
    """Unpack the (F, D) array that pack_vectors wrote."""
    numbers: NDArray[Any] = np.frombuffer(data[1:], f"<{data[:1].decode()}")
    return single(numbers).reshape(-1, dimension)


def unpack_together(packed: Sequence[bytes], dimension: int) -> list[NDArray[np.float32]]:
    """Unpack many arrays at once.

    It takes a third of the time of unpack_vectors on each.
    """
    vectors, ends = unpack_joined(packed, dimension)
    return [vectors[start:end] for start, end in pairwise(ends)]


def unpack_joined(packed: Sequence[bytes], dimension: int) -> tuple[NDArray[np.float32], list[int]]:
    """Unpack many arrays into one (N, D), with their offsets in it."""
    long = 2 * dimension  # bytes of a vector
    if all(data[:1] == HALF and len(data) % long == 1 for data in packed):
        numbers = np.frombuffer(b"".join([memoryview(data)[1:] for data in packed]), "<f2")
        vectors = single(numbers).reshape(-1, dimension)
        sizes = [len(data) // long for data in packed]
    else:
        unpacked = [unpack_vectors(data, dimension) for data in packed]
        vectors, sizes = np.concatenate(unpacked), [len(array) for array in unpacked]
    return vectors, list(accumulate(sizes, initial=0))


def as_stored(bag: FragmentBag) -> FragmentBag:
    """Return the bag in the precision of the catalog."""
    import torch

    vectors = unpack_vectors(pack_vectors(bag), bag.vectors.shape[1])
    return replace(bag, vectors=torch.from_numpy(vectors))


def pack_details(bag: FragmentBag) -> bytes:
    """Pack labels as JSON, a zero byte, then boxes or spans.

    JSON text has no zero byte.
    """
    if isinstance(bag.places[0], Box):
        edges = [(box.left, box.top, box.right, box.bottom) for box in bag.places]
        places = np.array(edges, "<f4").tobytes()
    else:
        ends = [(span.start, span.end) for span in bag.places]
        places = np.array(ends, "<i4").tobytes()
    return json.dumps(bag.labels, ensure_ascii=False).encode() + b"\0" + places


def unpack_bag(vectors: NDArray[np.float32], details: bytes, position: int) -> FragmentBag:
    """Unpack a bag: boxes for an image, spans for a sentence.

    An image has a position below 0.
    """
    import torch

    labels, places = details.split(b"\0", 1)
    copied = torch.from_numpy(vectors.astype(np.float32))  # (F, D), its own memory
    if position <= IMAGE:
        edges = np.frombuffer(places, "<f4").reshape(-1, 4).tolist()
        return FragmentBag(copied, tuple(starmap(Box, edges)), _read_labels(labels))
    ends = np.frombuffer(places, "<i4").reshape(-1, 2).tolist()
    return FragmentBag(copied, tuple(starmap(Span, ends)), _read_labels(labels))


@lru_cache(maxsize=64)  # regions of most photos have the same
def _read_labels(labels: bytes) -> tuple[str, ...]:
    """Read labels from JSON."""
    return tuple(json.loads(labels))
