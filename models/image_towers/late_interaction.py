"""Image tower of a retriever: its token vectors of a photo."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from models.encoders import late_interaction
from models.encoders.halves import PRECISIONS
from models.encoders.source import EncoderSource, Files
from models.towers import ImageTower, Sight
from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class Config:
    """A source of weights (models.encoders.source); `pool` patches share a vector."""

    folder: str
    files: Files
    revision: str = ""
    pool: int = 1
    precision: str = "float32"

    def __post_init__(self) -> None:
        if self.pool < 1:
            raise ValueError(f"pool is {self.pool}; use 1 (no pooling) or more patches a vector")
        if self.precision not in PRECISIONS:
            raise ValueError(f"no precision {self.precision!r}; use {' or '.join(PRECISIONS)}")

    @property
    def source(self) -> EncoderSource:
        """The folder of the weights."""
        return EncoderSource(self.folder, self.files, self.revision)


class TokenSight(Sight):
    """The unit vectors of a photo's tokens, and their boxes."""

    packaged = ("retriever.",)

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.retriever = late_interaction.load(config.source, config.precision)

    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Vectors (F, D) and boxes (F, 4) of each uint8 photo (3, H, W)."""
        seen = list(self.retriever.see(images, self.config.pool))
        return [vectors for vectors, _ in seen], [boxes for _, boxes in seen]

    def key(self) -> str:
        """The weights, the way they compute, and the pooling."""
        config = self.config
        return json.dumps(["late", config.source.key, config.pool, config.precision])


class Model(ImageTower):
    """v_i = x_i: the retriever's own vectors; none stands for the whole photo."""

    whole_first = False

    def __init__(self, config: Config) -> None:
        sight = TokenSight(config)
        super().__init__(config, sight, sight.retriever.dimension)

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (K, F, D): the inputs."""
        return inputs
