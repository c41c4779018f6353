"""Text tower of one vector a sentence, composed along a tree.

Or along the row of its words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.layers import PrincipalComponents
from models.text.readers import TreeReader, WordReader
from models.text.trees import (
    ACTIVATIONS,
    TREES,
    ConstituencyEncoder,
    DependencyEncoder,
    MeanEncoder,
    RecurrentEncoder,
    near_identity,
)
from models.text.words import MINILM_HIDDEN
from models.towers import TextTower
from models.types import PaddedBags

SEQUENCES = ("average", "sequence")  # compositions that need no tree


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes, and the paper's compositions of words.

    composition: "relation" is SDT-RNN, "position" DT-RNN, "constituency" CT-RNN, "sequence" the
    recurrent network, "average" the bag of words. `relations` are train's frequent ones; all others
    share a matrix, and so do positions past `reach` on either side. `parser` is the key of the
    trees' parser. `unit` gives y length one: the paper does not, so long y answer every photo.
    """

    composition: str = "relation"
    activation: str = "identity"
    relations: tuple[str, ...] = ()
    parser: str = ""
    reach: int = 5
    unit: bool = True
    embedding: int = 200
    dropout: float = 0.3

    @property
    def learned(self) -> tuple[str, ...]:
        """The fields filled by training, from train's sentences and their parser."""
        if self.composition not in TREES:
            return ()
        return ("relations", "parser") if self.composition == "relation" else ("parser",)

    @property
    def flat(self) -> bool:
        """Return whether words are composed without a tree."""
        return self.composition in SEQUENCES


class Model(TextTower):
    """y, the vector at the root of a sentence's tree   (Socher et al. 2014, eq. 4)."""

    def __init__(self, config: Config) -> None:
        trees = config.relations, config.reach, config.parser
        reader = WordReader(whole=True) if config.flat else TreeReader(*trees)
        super().__init__(config, reader, config.embedding)
        self.reduce = PrincipalComponents(MINILM_HIDDEN, MINILM_HIDDEN, whiten=False)
        self.dropout = nn.Dropout(config.dropout)
        self.enter = nn.Linear(MINILM_HIDDEN, config.embedding, bias=False)  # W_v
        self.enter.weight = nn.Parameter(near_identity(MINILM_HIDDEN)[: config.embedding].clone())
        self.compose = composer(config)

    def prepare(self, inputs: Sequence[Tensor], owners: Sequence[int]) -> None:
        """Measure the words of one sentence of each photo."""
        first = {owner: place for place, owner in enumerate(owners)}
        words = torch.cat([inputs[place] for place in first.values()])
        self.reduce.fit(words[:, :MINILM_HIDDEN].to(self.enter.weight.device))

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Vectors y (L, 1, D) of word vectors (L, T, W), or with a tree's columns (L, T, W + 4)."""
        words, mask = inputs.vectors, inputs.mask
        x = self.enter(self.dropout(self.reduce(words[..., :MINILM_HIDDEN]))).float()
        if self.config.flat:
            y = self.compose(x, mask)
        else:
            tree = words[..., MINILM_HIDDEN:].long().unbind(-1)
            y = self.compose(x, mask, tree[0], tree[1 + TREES.index(self.config.composition)])
        y = F.normalize(y.float(), dim=-1) if self.config.unit else y.float()  # (L, D)
        return PaddedBags(y[:, None], mask[:, :1])


def composer(config: Config) -> nn.Module:
    """The encoder of a composition; ValueError names the ones there are."""
    D, activations = config.embedding, ACTIVATIONS
    if config.activation not in activations:
        raise ValueError(
            f"no activation {config.activation!r}; there are: {', '.join(activations)}"
        )
    f = activations[config.activation]
    makers: dict[str, Callable[[], nn.Module]] = {
        "relation": lambda: DependencyEncoder(1 + len(config.relations), D, f),
        "position": lambda: DependencyEncoder(1 + 2 * config.reach, D, f),
        "constituency": lambda: ConstituencyEncoder(D, f),
        "sequence": lambda: RecurrentEncoder(D, f),
        "average": MeanEncoder,
    }
    if config.composition not in makers:
        raise ValueError(f"no composition {config.composition!r}; there are: {', '.join(makers)}")
    return makers[config.composition]()
