"""Text tower of pairs of words: dependency relations, bigrams, or words alone."""

from __future__ import annotations

from dataclasses import dataclass

from models.text.edges import EdgeEncoder
from models.text.readers import PAIRS, PairReader
from models.text.words import MINILM_HIDDEN
from models.towers import TextTower
from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes, and the kind of fragments: pairs "dependencies", "bigrams" or "words".

    MiniLM's vectors of single words stand for those of Huang et al., fixed. `shared` adds a matrix
    that all relations share to each relation's own. `relations` are train's, those above 1 %, and
    `parser` is the key of the one that found them.
    """

    pairs: str = "dependencies"
    shared: bool = True
    relations: tuple[str, ...] = ()
    parser: str = ""
    embedding: int = 256
    dropout: float = 0.3

    def __post_init__(self) -> None:
        if self.pairs not in PAIRS:
            raise ValueError(f"no pairs {self.pairs!r}; there are: {', '.join(PAIRS)}")

    @property
    def learned(self) -> tuple[str, ...]:
        """The fields filled by training, from train's sentences and their parser."""
        return ("relations", "parser") if self.pairs == "dependencies" else ()


class Model(TextTower):
    """s_j of models.text.edges.EdgeEncoder   (Karpathy et al. 2014, eq. 1)."""

    def __init__(self, config: Config) -> None:
        reader = PairReader(config.pairs, config.relations, config.parser)
        super().__init__(config, reader, config.embedding)
        kinds = 1 + len(config.relations) if config.pairs == "dependencies" else 1
        sizes = MINILM_HIDDEN, kinds, config.embedding, config.dropout
        self.edges = EdgeEncoder(*sizes, shared=config.shared)

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """s_j (L, F, D) of `join_edges` inputs, for each pair of a listed relation.

        Inputs are (L, T, W + 2).
        """
        return self.edges.bags(inputs.vectors, inputs.mask)
