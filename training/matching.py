"""What a matcher offers so that it can be trained: a frozen part, and a trained part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from models.registry import Matcher
from models.types import PaddedBags


class TrainableMatcher(Matcher, Protocol):
    """A matcher, also an nn.Module, whose frozen part is computed once and kept on disk.

    Parameters that training must leave alone have requires_grad = False. Where `tuned` is true,
    image_inputs has parameters that train, and nothing of it is kept.
    """

    tuned: bool

    def image_inputs(self, images: Sequence[Tensor]) -> list[Tensor]:
        """The frozen part's (R, C) of each uint8 photo (3, height, width)."""
        ...

    def sentence_inputs(self, texts: Sequence[str]) -> list[Tensor]:
        """The frozen part's (T, C) of each sentence: vectors, or whole numbers for words."""
        ...

    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """The trained part: (K, R, C) to (K, R', D)."""
        ...

    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """The trained part: (L, T, C) to (L, T', D)."""
        ...

    def image_key(self) -> str:
        """Changes whenever image_inputs would: backbone, size, regions."""
        ...

    def sentence_key(self) -> str:
        """Changes whenever sentence_inputs would: tokenizer, vocabulary, frozen encoder."""
        ...

    def train(self, mode: bool = True) -> Any:
        """As in nn.Module."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """As in nn.Module."""
        ...

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Any:
        """As in nn.Module."""
        ...


@runtime_checkable
class Prepared(Protocol):
    """A matcher that wants to know train's inputs before its first step, or is made of them."""

    def prepare(
        self, images: Sequence[Tensor], sentences: Sequence[Tensor], owners: Sequence[int]
    ) -> None:
        """See the frozen inputs of train, sentences[l] of images[owners[l]].

        Called once, before training and not on resuming.
        """
        ...
