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

from models import backbones, decoding
from models.decoding import Limits, State, Step
from models.registry import Caption

UNKNOWN = 1
FIRST_WORD = 2  # index of the vocabulary's first word, after END and UNKNOWN
WIDEST_BEAM = 20
BATCH = 16  # photos that pass the CNN at once


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


class Language(nn.Module):
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

    def look(self, maps: Tensor) -> State:
        """Features (K, R, C) to what sentences start from: h, c (K, H), keys and values."""
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

    def logits(self, outputs: Tensor) -> Tensor:
        """Outputs of forward (..., E) to the words' logits (..., V)."""
        return F.linear(outputs, self.words.weight, self.bias)


class Model(nn.Module):
    """A frozen CNN and the language that describes what it sees: a registry.Captioner."""

    packaged = ("backbone.",)
    stored_in_half = ("language.",)

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.backbone = backbones.load(config.backbone).requires_grad_(False)
        self.language = Language(config, self.backbone.channels)

    def train(self, mode: bool = True) -> Model:
        """Train the language alone: the backbone keeps the statistics it came with."""
        super().train(mode)
        self.backbone.eval()
        return self

    def image_key(self) -> str:
        """Changes whenever image_inputs would."""
        return f"{self.config.backbone} {self.config.size}"

    @torch.inference_mode()
    def image_inputs(self, images: Sequence[Tensor]) -> list[Tensor]:
        """The frozen part's cells (R, C) of each uint8 photo (3, H, W)."""
        device = self.language.bias.device
        pixels = backbones.squash([image.to(device) for image in images], self.config.size)
        return list(self.backbone(pixels).flatten(2).transpose(1, 2))  # K × (R, C)

    def start(self, inputs: Sequence[Tensor]) -> tuple[Step, State]:
        """What a search over sentences needs, for the image_inputs of K photos."""

        def step(words: Tensor, state: State) -> tuple[Tensor, State]:
            outputs, state = self.language(words[:, None], state)
            return self.language.logits(outputs[:, 0]).log_softmax(dim=1), state

        photos = torch.stack(list(inputs)).to(self.language.bias.device)  # (K, R, C)
        return step, self.language.look(photos)

    @torch.inference_mode()
    def describe(self, images: Sequence[Tensor], *, beam: int, count: int) -> list[list[Caption]]:
        """The `count` best captions of each uint8 RGB photo (3, H, W), best first.

        ValueError unless 1 ≤ count ≤ beam ≤ 20.
        """
        if not 1 <= count <= beam <= WIDEST_BEAM:
            raise ValueError(
                f"count {count} and beam {beam} must keep 1 ≤ count ≤ beam ≤ {WIDEST_BEAM}"
            )
        found: list[list[Caption]] = []
        for at in range(0, len(images), BATCH):
            found += self.captions(self.image_inputs(images[at : at + BATCH]), beam, count)
        return found

    @torch.inference_mode()
    def captions(self, inputs: Sequence[Tensor], beam: int, count: int) -> list[list[Caption]]:
        """The same from image_inputs; sentences are ranked by their probability."""
        step, state = self.start(inputs)
        limits = Limits(self.config.longest, self.config.shortest, never=(UNKNOWN,))
        found = decoding.beam(step, state, limits, width=beam)
        return [
            [Caption(self.text(one.words), one.log_probability) for one in best[:count]]
            for best in found
        ]

    def text(self, indices: Sequence[int]) -> str:
        """Words as a person reads them: the first letter in upper case, no full stop."""
        line = " ".join(self.config.words[index - FIRST_WORD] for index in indices)
        return line[:1].upper() + line[1:]
