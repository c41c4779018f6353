"""Captioner: an LSTM that starts from the whole frame and looks again at each word.

A long short-term memory in the place of the RNN of Karpathy & Fei-Fei (2015), eq. 13-15, with
attention over the cells of the CNN's map, in the manner of Xu et al. (2015), added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import backbones
from models.captioning import FIRST_WORD, Captioner, Language
from models.decoding import State
from models.towers import Sight
from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class Config:
    """The vocabulary, and sizes; `size` is the side in pixels that photos are squashed to."""

    words: tuple[str, ...]
    backbone: str = "lite0"
    size: int = 224
    embedding: int = 256
    hidden: int = 384
    attention: int = 256
    dropout: float = 0.5
    sight_dropout: float = 0.3
    longest: int = 20  # words of a caption
    shortest: int = 5  # of a photo unlike all that it learnt from, it else says "A toy"


class Attention(Language):
    """p(next word | words so far, photo), for a map of R cells with features x_r.

    h_1, c_1 = W_hi x̄, once, as eq. 13 gives b_v; h_t, c_t = LSTM(W_w w_t, h_{t-1}, c_{t-1}) for
    eq. 14; a_t = softmax_r(q(h_t)·k(x_r) / √A) and y_t = W_wᵀ(W_oh h_t + Σ_r a_tr u(x_r)) + b_o
    for eq. 15: one W_w for the words that come and go. The CNN's rectified features have few
    large values, so they enter by their square roots.
    """

    def __init__(self, config: Config, channels: int) -> None:
        super().__init__()
        self.sizes = (config.attention, config.embedding)
        self.words = nn.Embedding(len(config.words) + FIRST_WORD, config.embedding)
        nn.init.normal_(self.words.weight, std=config.embedding**-0.5)
        self.scale = config.embedding**0.5  # the same weights, as inputs, have unit variance
        self.frame = nn.LayerNorm(channels)
        self.start = nn.Linear(channels, 2 * config.hidden)
        self.lstm = nn.LSTM(config.embedding, config.hidden, batch_first=True)
        self.cells = nn.Linear(channels, sum(self.sizes))
        self.query = nn.Linear(config.hidden, config.attention)
        self.out = nn.Linear(config.hidden, config.embedding)
        self.bias = nn.Parameter(torch.zeros(len(self.words.weight)))
        self.dropout = nn.Dropout(config.dropout)
        self.sight_dropout = nn.Dropout(config.sight_dropout)

    def look(self, inputs: PaddedBags) -> State:
        """Features (K, R, C) to what sentences start from: h, c (K, H), keys and values."""
        maps = inputs.vectors
        frame = self.frame(maps.mean(dim=1).sqrt())  # (K, C)
        hidden, cell = self.start(self.sight_dropout(frame)).chunk(2, dim=1)
        keys, values = self.cells(self.sight_dropout(maps.sqrt())).split(self.sizes, dim=2)
        return hidden.tanh(), cell, keys, values

    def forward(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """Words (N, T) to outputs (N, T, E), for `logits` of the words after them, and a state."""
        hidden, cell, keys, values = state
        outputs, (hidden, cell) = self.lstm(
            self.dropout(self.words(words) * self.scale),
            (hidden[None].contiguous(), cell[None].contiguous()),
        )  # (N, T, H)
        outputs = self.dropout(outputs)
        attended = F.scaled_dot_product_attention(self.query(outputs), keys, values)  # (N, T, E)
        joined = self.dropout(self.out(outputs) + attended)
        return joined, (hidden[0], cell[0], keys, values)

    def logits(self, outputs: Tensor, state: State) -> Tensor:  # noqa: ARG002
        """Outputs of forward (..., E) to the words' logits (..., V)."""
        return F.linear(outputs, self.words.weight, self.bias)


class Cells(Sight):
    """The cells (R, C) of a CNN's last map, over photos squashed to squares."""

    packaged = ("backbone.",)

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.size, self.name = config.size, config.backbone
        self.backbone = backbones.load(config.backbone)

    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """The cells (R, C) of each uint8 photo (3, H, W), and the frame as its only box (1, 4)."""
        device = next(self.backbone.parameters()).device
        pixels = backbones.squash([image.to(device) for image in images], self.size)
        cells = list(self.backbone(pixels).flatten(2).transpose(1, 2))  # K × (R, C)
        return cells, [torch.tensor([[0.0, 0.0, 1.0, 1.0]]) for _ in images]

    def key(self) -> str:
        """The CNN and the size."""
        return f"{self.name} {self.size}"


class Model(Captioner):
    """A frozen CNN and the language that describes what it sees."""

    def __init__(self, config: Config) -> None:
        sight = Cells(config)
        super().__init__(config, sight, Attention(config, sight.backbone.channels))
