"""Values of all rooms: places, fragments, parsed sentences, links.

Imports torch only where it computes: code that stores bags as bytes does without its 500 MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class Box(NamedTuple):  # no dataclass, as spans and links: every answer makes hundreds
    """A part of an image, in fractions: 0 ≤ left < right ≤ 1."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def area(self) -> float:
        """The covered fraction of the image."""
        return (self.right - self.left) * (self.bottom - self.top)

    def overlap(self, other: Box) -> float:
        """The fraction of the image in both boxes."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(width, 0.0) * max(height, 0.0)

    def iou(self, other: Box) -> float:
        """Intersection over union, 0 to 1."""
        shared = self.overlap(other)
        return shared / (self.area + other.area - shared)

    def whole(self, box: Box) -> Box:
        """A box within this part, in fractions of the whole image."""
        width, height = self.right - self.left, self.bottom - self.top
        return Box(
            self.left + box.left * width,
            self.top + box.top * height,
            self.left + box.right * width,
            self.top + box.bottom * height,
        )


WHOLE_FRAME = Box(0.0, 0.0, 1.0, 1.0)

# The labels of the fragments that stand for a whole; no word has a space in it.
WHOLE_PHOTO = "whole photo"
WHOLE_SENTENCE = "whole sentence"


class Span(NamedTuple):
    """A part of a text, in characters: text[start:end]."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The part itself."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a parsed sentence; `head` is its head's index, -1 if unknown."""

    text: str
    span: Span
    tag: str = ""
    lemma: str = ""
    head: int = -1
    relation: str = ""


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """A sentence and its words, punctuation left out; spans point into text."""

    text: str
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class FragmentBag:
    """The fragments of one image or one sentence.

    Shapes: vectors (F, D) float32; places and labels have length F. An image's places are boxes and
    a sentence's are spans; a label is a word, or "whole photo". A bag fresh from embedding knows in
    `of_terms` how many of its last numbers are a catalogue's terms, equal in all regions of a photo
    (models.scores.terms); a stored bag does not.
    """

    vectors: Tensor
    places: tuple[Box, ...] | tuple[Span, ...]
    labels: tuple[str, ...]
    of_terms: int = 0

    def __post_init__(self) -> None:
        assert self.vectors.ndim == 2, f"vectors must be (F, D), got {tuple(self.vectors.shape)}"
        assert len(self.vectors) == len(self.places) == len(self.labels)

    def __len__(self) -> int:
        return len(self.places)

    def alone(self, fragment: int) -> FragmentBag:
        """The bag of one of the fragments."""
        place = self.places[fragment]
        vectors = self.vectors[fragment : fragment + 1]
        return FragmentBag(vectors, (place,), (self.labels[fragment],), self.of_terms)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class PaddedBags:
    """A batch of bags: vectors (B, F, D) and a mask (B, F) of real fragments."""

    vectors: Tensor
    mask: Tensor

    @classmethod
    def of(cls, bags: Sequence[Tensor]) -> PaddedBags:
        """Pad a non-empty sequence of (F_b, D) tensors to their longest."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        vectors = pad_sequence(list(bags), batch_first=True)  # (B, F, D)
        sizes = torch.tensor([len(bag) for bag in bags], device=vectors.device)
        mask = torch.arange(vectors.shape[1], device=vectors.device)[None, :] < sizes[:, None]
        return cls(vectors, mask)

    def __len__(self) -> int:
        return len(self.vectors)

    def to(self, device: torch.device | str) -> PaddedBags:
        """These bags on another device."""
        return PaddedBags(self.vectors.to(device), self.mask.to(device))


def plan_passes(lengths: Sequence[int], most: int, squared: int) -> Iterator[list[int]]:
    """Yield the places of texts by passes, the shortest first.

    Texts of like length go together, so that none is padded to many times its own.

    Attention takes time and memory by the square of the longest, for each text of a pass: that is
    `squared` at most, unless a text is alone.

    >>> [*plan_passes([2, 3, 90, 2], most=64, squared=8_192)]
    [[0, 3, 1], [2]]
    """
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == most or (len(batch) + 1) * lengths[at] ** 2 > squared):
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


class Link(NamedTuple):
    """Sentence fragment `fragment` is supported by image fragment `region`.

    `similarity` is the link's part of the score: the links of a pair add up to it. `whole` is the
    part with the whole photo alone; None if no fragment stands for the whole photo, or if every
    region has a link of its own. A negated fragment's link is above 0 only in queries of negated
    parts alone.
    """

    fragment: int
    region: int
    similarity: float
    whole: float | None = None
    negated: bool = False

    @property
    def added(self) -> float | None:
        """The region's part, beyond the whole photo."""
        return None if self.whole is None else self.similarity - self.whole
