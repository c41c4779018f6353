"""Small real models of colours: a matcher, captioners, a grounder."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from PIL import ImageColor
from torch import Tensor

from models.registry import Caption, CaptionWord, Generation
from models.text.parsing import parse
from models.towers import Sight
from models.types import Box, FragmentBag, Span

QUADRANTS = (
    Box(0, 0, 1, 1),
    *(Box(x, y, x + 0.5, y + 0.5) for y in (0.0, 0.5) for x in (0.0, 0.5)),
)


class Quadrants(Sight):
    """The mean colour of a photo, and of its four quadrants."""

    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        boxes = torch.tensor([[b.left, b.top, b.right, b.bottom] for b in QUADRANTS])
        return [self._means(image.float() / 127.5 - 1) for image in images], [boxes] * len(images)

    def key(self) -> str:
        return "quadrants"

    def _means(self, image: Tensor) -> Tensor:
        _, H, W = image.shape
        parts = [
            image[
                :,
                int(b.top * H) : max(1, int(b.bottom * H)),
                int(b.left * W) : max(1, int(b.right * W)),
            ]
            for b in QUADRANTS
        ]
        return torch.stack([part.mean(dim=(1, 2)) for part in parts]).nan_to_num()


class Colours:
    """A matcher of colours.

    A word's vector is its colour, a region's its mean colour.
    """

    dimension = 3
    score = "sum_of_max"
    any_word = False

    def __init__(self) -> None:
        self.sight: Sight = Quadrants()

    def embed_images(self, images: Sequence[Tensor]) -> list[FragmentBag]:
        return self.embed_inputs(*self.sight(images))

    def embed_inputs(self, inputs: Sequence[Tensor], boxes: Sequence[Tensor]) -> list[FragmentBag]:
        labels = ("whole photo", *(f"region {i}" for i in range(1, len(QUADRANTS))))
        return [FragmentBag(vectors, QUADRANTS, labels) for vectors in inputs]

    def embed_sentences(self, texts: Sequence[str]) -> list[FragmentBag]:
        bags = []
        for sentence in map(parse, texts):
            vectors = torch.stack([self.word(word.text.lower()) for word in sentence.words])
            labels = tuple(word.text for word in sentence.words)
            bags.append(FragmentBag(vectors, tuple(w.span for w in sentence.words), labels))
        return bags

    def word(self, word: str) -> Tensor:
        colour = ImageColor.getrgb(word) if word in ImageColor.colormap else (127.5,) * 3
        return torch.tensor(colour[:3]) / 127.5 - 1


class Sizes(Sight):
    """The width and height of a photo."""

    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        sizes = [torch.tensor([[float(image.shape[2]), image.shape[1]]]) for image in images]
        return sizes, [torch.tensor([[0.0, 0.0, 1.0, 1.0]]) for _ in images]

    def key(self) -> str:
        return "sizes"


class OneSentence:
    """A captioner of a photo's size."""

    of_regions = False

    def __init__(self) -> None:
        self.sight: Sight = Sizes()

    def describe(self, inputs: Sequence[Tensor], generation: Generation) -> list[list[Caption]]:
        texts = [f"{int(size[0, 0])} by {int(size[0, 1])}".split() for size in inputs]
        return [
            [
                Caption(tuple(CaptionWord(word, -rank / 3) for word in words), -float(rank))
                for rank in range(generation.count)
            ]
            for words in texts
        ]

    def find_absent_words(self, inputs: Tensor) -> frozenset[str]:
        return frozenset()


class ColourNames:
    """A captioner of two colours, with a false word.

    It names the colour of a region, or those of a photo's top left and top right quarter, and looks
    at what it names. A caption of a photo ends with lime on purpose: in photos without
    lime that word is false, and tests see it marked. `ruled_out` are words that no photo shows.
    """

    of_regions = True

    def __init__(self) -> None:
        self.sight: Sight = Quadrants()
        self.familiarity: float | None = None
        self.ruled_out: frozenset[str] = frozenset()

    def describe(self, inputs: Sequence[Tensor], generation: Generation) -> list[list[Caption]]:
        return [[self._caption(colours, generation)] * generation.count for colours in inputs]

    def find_absent_words(self, inputs: Tensor) -> frozenset[str]:
        assert len(inputs) == len(QUADRANTS)  # the whole photo's, never a region's
        return self.ruled_out

    def _caption(self, colours: Tensor, generation: Generation) -> Caption:
        names = [self._name(colour, generation.never) for colour in colours]
        line = (
            [*names, "thing"]
            if len(names) == 1
            else ["with", names[1], "by", names[2], "and", "lime"]
        )
        looked = {1: 1, 3: 2} if len(names) > 1 else {}
        attention = torch.eye(len(names))
        words = (
            CaptionWord(word, -0.5, attention[looked.get(at, 0)]) for at, word in enumerate(line)
        )
        return Caption(tuple(words), -0.5 * len(line), self.familiarity)

    def _name(self, colour: Tensor, never: frozenset[str]) -> str:
        known = [name for name in ("red", "blue", "white", "black") if name not in never]
        return min(known, key=lambda name: float((Colours().word(name) - colour).abs().sum()))


class Sides:
    """A grounder of "left", the left half; other phrases mean the right."""

    def locate(self, image: Tensor, text: str, spans: Sequence[Span]) -> tuple[Tensor, Tensor]:
        parse(text)
        left = torch.tensor([text[s.start : s.end].lower() == "left" for s in spans])
        boxes = torch.tensor([[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]])
        return boxes, torch.stack([left.float(), 1 - left.float()], dim=1)
