"""Truth of pairs: own sentences, and equal ones of others."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from training.data.corpus import Example


class PairTruth:
    """The sentences of examples, in order, and their weights for every photo.

    Two products with the text "blue shirt" are both right answers to it: a batch with both must
    take neither for a mistake. A pair's weight is 1 unless its example gives another.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        numbers: dict[str, int] = {}
        self.sentences = [
            numbers.setdefault(sentence, len(numbers))
            for example in examples
            for sentence in example.sentences
        ]
        self.photos: list[dict[int, float]] = [
            {numbers[sentence]: weight for sentence, weight in example.weighted}
            for example in examples
        ]

    @property
    def distinct(self) -> list[int]:
        """The position of the first sentence of each text."""
        firsts = {text: position for position, text in reversed([*enumerate(self.sentences)])}
        return sorted(firsts.values())

    def weights(self, photos: Sequence[int], sentences: Sequence[int]) -> Tensor:
        """Return the weights (K, L) of photos with sentences; 0 is not true."""
        texts = [self.sentences[position] for position in sentences]
        rows = [[self.photos[photo].get(text, 0.0) for text in texts] for photo in photos]
        return torch.tensor(rows)
