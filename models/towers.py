"""The halves of a matcher, an image tower and a text tower: each a frozen and a trained part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from models.parsing import parse
from models.types import WHOLE_SENTENCE, PaddedBags, ParsedSentence, Span

LIKELIHOOD_SCALE = 0.2  # ε of a likelihood among vectors, and of its prior among words
Place = tuple[str, Span]  # a fragment's label and where it is in the text


class Sight(nn.Module, ABC):
    """The frozen part of an image tower: computed once a photo, and cached in training.

    With `tuned` it has parameters that train, so that nothing of it is kept.
    """

    tuned = False

    @abstractmethod
    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Inputs (F, C) and boxes (R, 4) of each uint8 photo (3, H, W).

        The boxes are fractions of the photo, the whole frame first. F and R may differ: the
        tower makes R fragments of F inputs.
        """

    @abstractmethod
    def key(self) -> str:
        """Changes whenever the inputs would: backbone, sizes, regions."""

    def train(self, mode: bool = True) -> Sight:  # noqa: ARG002 - batch norms keep their means
        """Stay in evaluation mode."""
        super().train(False)
        return self


class ImageTower(nn.Module, ABC):
    """Photos to bags of fragments of `dimension` numbers each.

    `sight` is the frozen part, `forward` the trained one. A part that an installed package
    brings, and weights to store in half precision, are declared where they are: see
    models.checkpoint.
    """

    def __init__(self, config: Any, sight: Sight, dimension: int) -> None:
        super().__init__()
        self.config, self.sight, self.dimension = config, sight, dimension

    def prepare(self, inputs: Sequence[Tensor]) -> None:
        """Measure train's inputs, each (F, C), before the first step."""

    @abstractmethod
    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (K, R, D) of inputs (K, F, C); the first is the whole photo."""


class TextTower(nn.Module, ABC):
    """Sentences to bags of fragments of `dimension` numbers each; a fragment a word by default.

    `inputs` is the frozen part, cached in training, `forward` the trained one. A Config may say
    in `learned` which of its fields training fills from train's sentences: words, frequencies,
    relations, parser.
    """

    def __init__(self, config: Any, dimension: int) -> None:
        super().__init__()
        self.config, self.dimension = config, dimension

    def parse(self, texts: Sequence[str]) -> list[ParsedSentence]:
        """Texts as far as the fragments need it: words, or trees.

        ValueError for a text without words, or with too many.
        """
        return [parse(text) for text in texts]

    @abstractmethod
    def inputs(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """The frozen part of each sentence, (T, C): vectors, or whole numbers for words."""

    @abstractmethod
    def key(self) -> str:
        """Changes whenever the inputs would: tokenizer, vocabulary, frozen encoder."""

    def prepare(self, inputs: Sequence[Tensor], owners: Sequence[int]) -> None:
        """Measure train's inputs, each (T, C), before the first step; owners are their photos."""

    @abstractmethod
    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (L, F, D) of inputs (L, T, C)."""

    def places(self, sentence: ParsedSentence) -> list[Place]:
        """The label and the span of each fragment, in the order of `forward`."""
        return [(word.text, word.span) for word in sentence.words]


def whole(sentence: ParsedSentence) -> list[Place]:
    """The place of a sentence's only fragment: from its first word to its last."""
    words = sentence.words
    return [(WHOLE_SENTENCE, Span(words[0].span.start, words[-1].span.end))]
