"""The halves of a matcher: an image and a text tower.

Each has a frozen and a trained part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from torch import Tensor, nn

from models.types import PaddedBags, ParsedSentence, Span

LIKELIHOOD_SCALE = 0.2  # ε of a likelihood among vectors, and of its prior among words
FragmentPlace = tuple[str, Span]  # a fragment's label and where it is in the text


class FrozenPart(nn.Module, ABC):
    """The frozen part of a tower, computed once an item."""

    @abstractmethod
    def key(self) -> str:
        """Changes whenever the inputs would: backbone, sizes, regions; tokenizer, vocabulary."""

    def train(self, mode: bool = True) -> Self:  # noqa: ARG002 - batch norms keep their means
        """Stay in evaluation mode."""
        return super().train(False)


class Sight(FrozenPart):
    """The frozen part of an image tower.

    With `tuned` it has trained parameters, so its outputs are not cached.
    """

    tuned = False

    @abstractmethod
    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Inputs (F, C) and boxes (R, 4) of each uint8 photo (3, H, W).

        The boxes are fractions of the photo, the whole frame first. F and R may differ: the
        tower makes R fragments of F inputs.
        """

    def forward_cached(
        self,
        images: Sequence[Tensor],
        known: dict[Any, Any],  # noqa: ARG002 - only some sights have parts in common
    ) -> tuple[list[Tensor], list[Tensor]]:
        """As `forward`, with results shared between sights in `known`."""
        inputs_and_boxes: tuple[list[Tensor], list[Tensor]] = self(images)
        return inputs_and_boxes

    def share(self, other: Sight) -> None:
        """Take another sight's equal parts, to have them in memory once."""


class TextReader(FrozenPart):
    """The frozen part of a text tower.

    By default, each word is a fragment.

    With `any_word` it reads every word in any script: none is unknown.
    """

    any_word = False

    def forward(self, texts: Sequence[str]) -> tuple[list[Tensor], list[list[FragmentPlace]]]:
        """Inputs (T, C) of each text, and its fragments' places in order.

        ValueError for a text without words, or with too many.
        """
        sentences = self.parse(texts)
        return self.inputs(sentences), [self.places(sentence) for sentence in sentences]

    @abstractmethod
    def parse(self, texts: Sequence[str]) -> list[ParsedSentence]:
        """Texts as far as the fragments need it: words, or trees."""

    @abstractmethod
    def inputs(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Inputs (T, C) of each sentence: vectors, or whole numbers for words."""

    def places(self, sentence: ParsedSentence) -> list[FragmentPlace]:
        """The label and place of each fragment."""
        return [(word.text, word.span) for word in sentence.words]


class ImageTower(nn.Module, ABC):
    """Photos to bags of fragments; `forward` is the trained part.

    A fragment has `dimension` numbers. A tower, or a module in it, lists in `known_start` the
    prefixes of weights with a known start: pretrained layers, and maps from class names.
    """

    precomputes = False
    whole_first = True  # whether the first fragment stands for the whole photo

    def __init__(self, config: Any, sight: Sight, dimension: int) -> None:
        super().__init__()
        self.config, self.sight, self.dimension = config, sight, dimension

    def begin(self) -> None:
        """Take known initial weights, as listed in `known_start`."""

    def prepare(self, inputs: Sequence[Tensor]) -> None:
        """Measure train's inputs, each (F, C), before the first step."""

    def precompute(self, inputs: PaddedBags) -> PaddedBags:
        """The fitted, untrained transform of inputs (K, F, C), before `forward`.

        A tower where this takes long sets `precomputes`: training then computes it once a photo.
        """
        return inputs

    @abstractmethod
    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (K, R, D) of precomputed inputs; the first is the whole photo."""

    @property
    def whole_features(self) -> int:
        """The number of features from `whole`."""
        raise ValueError(f"{type(self).__module__} has no features to learn a catalogue's terms of")

    def whole(self, inputs: PaddedBags) -> Tensor:
        """Features (K, C') of whole photos with inputs (K, F, C), to learn terms of."""
        raise NotImplementedError


class TextTower(nn.Module, ABC):
    """Sentences to bags of fragments; `forward` is the trained part.

    A fragment has `dimension` numbers. A Config lists in `learned` the fields filled from train's
    sentences: words, frequencies, relations, parser.
    """

    precomputes = False

    def __init__(self, config: Any, reader: TextReader, dimension: int) -> None:
        super().__init__()
        self.config, self.reader, self.dimension = config, reader, dimension

    def begin(self) -> None:
        """Take known initial weights, as listed in `known_start`."""

    def prepare(self, inputs: Sequence[Tensor], owners: Sequence[int]) -> None:
        """Measure train's inputs (T, C) before the first step.

        `owners` are the photos of the sentences.
        """

    def precompute(self, inputs: PaddedBags) -> PaddedBags:
        """The fitted, untrained transform of inputs (L, T, C), before `forward`.

        A tower where this takes long sets `precomputes`: training then computes it once a sentence.
        """
        return inputs

    @abstractmethod
    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (L, F, D) of precomputed inputs."""
