"""Captioner: the multimodal RNN of Karpathy & Fei-Fei (2015).

It describes whole photos or regions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.captions.captioning import FIRST_WORD, Language, LanguageCaptioner
from models.captions.decoding import State
from models.types import PaddedBags
from models.vision.sight import ViewSight


@dataclass(frozen=True, slots=True)
class Config:
    """The vocabulary, the sight (see models.vision.sight.ViewSight), and sizes.

    `recurrence` is rnn, as published, or lstm. `longest` and `shortest` are words of a caption,
    `unfinished` words that end no caption, such as "a" and "large".
    """

    words: tuple[str, ...]
    views: tuple[str, ...] = ("lite0@448",)
    proposals: str = "learned"
    recurrence: str = "rnn"
    embedding: int = 256
    hidden: int = 512
    dropout: float = 0.5
    longest: int = 20
    shortest: int = 1
    unfinished: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "unfinished", tuple(self.unfinished))
        if self.recurrence not in CELLS:
            raise ValueError(f"no recurrence {self.recurrence!r}; there are: {', '.join(CELLS)}")


def step_rnn(sums: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """h_t = max(0, sums): the RNN of eq. 14, without a memory."""
    return sums.relu(), memory


def step_lstm(sums: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """h_t and c_t of a long short-term memory (Hochreiter & Schmidhuber 1997), sums (N, 4 H)."""
    enter, forget, leave, candidate = sums.chunk(4, dim=1)
    memory = forget.sigmoid() * memory + enter.sigmoid() * candidate.tanh()
    return leave.sigmoid() * memory.tanh(), memory


CELLS = {"rnn": (step_rnn, 1), "lstm": (step_lstm, 4)}  # and how many sums each has for a unit


class MultimodalRNN(Language):
    """p(next word | words so far, photo), with one vector of a photo or of a region.

    b_v = W_hi CNN(I)                                       (Karpathy & Fei-Fei 2015, eq. 13)
    h_t = f(W_hx x_t + W_hh h_{t-1} + b_h + 1(t=1) b_v)     (eq. 14)
    y_t = softmax(W_oh h_t + b_o)                           (eq. 15)

    f is max(0, ·), h_0 = 0, and the photo enters at the first word alone. As an LSTM the same sums
    are those of its gates. CNN(I) is the mean of the map in a box; its rectified features have few
    large values, so they enter by their square roots, normalised. Dropout is in all layers but
    the recurrent one (section 3.3).
    """

    def __init__(self, config: Config, channels: int) -> None:
        super().__init__()
        V = len(config.words) + FIRST_WORD
        self.cell, sums = CELLS[config.recurrence]
        self.frame = len(config.views) - 1  # the whole photo in the last view, as regions are seen
        self.hidden = config.hidden
        self.photo = nn.Linear(channels, sums * config.hidden, bias=False)  # W_hi
        self.words = nn.Embedding(V, config.embedding)  # x_t
        self.enter = nn.Linear(config.embedding, sums * config.hidden)  # W_hx, b_h
        self.recur = nn.Linear(config.hidden, sums * config.hidden, bias=False)  # W_hh
        self.out = nn.Linear(config.hidden, V)  # W_oh, b_o
        self.dropout = nn.Dropout(config.dropout)

    def begin(self, counts: Tensor) -> None:
        """Start b_o at the log frequencies of words, from their counts (V,)."""
        with torch.no_grad():
            self.out.bias.copy_((counts.clamp_min(1) / counts.sum()).log())

    def look(self, inputs: PaddedBags) -> State:
        """h_0 (K, H), the memory c_0 (K, H), and b_v (K, sums · H).

        Features are (K, V + R - 1, C) of whole photos, of which the frame's in the last view
        counts; or (K, 1, C) of regions.
        """
        features = inputs.vectors[:, min(self.frame, inputs.vectors.shape[1] - 1)]  # (K, C)
        features = F.layer_norm(features.clamp_min(0).sqrt(), features.shape[1:])
        start = features.new_zeros(len(features), self.hidden)
        return start, start, self.photo(self.dropout(features))

    def forward(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """Words (N, T) to h_1 … h_T (N, T, H), and the next state."""
        hidden, memory, photo = state
        outputs = []
        for sums in self.enter(self.dropout(self.words(words))).unbind(1):  # (N, sums · H)
            hidden, memory = self.cell(sums + self.recur(hidden) + photo, memory)
            outputs.append(hidden)
            photo = torch.zeros_like(photo)
        return torch.stack(outputs, 1), (hidden, memory, photo)

    def logits(self, outputs: Tensor, state: State) -> Tensor:  # noqa: ARG002
        """Outputs of forward (..., H) to the words' logits (..., V)."""
        logits: Tensor = self.out(self.dropout(outputs))
        return logits


class Model(LanguageCaptioner):
    """The shipped matcher's last view, and a language over its rows."""

    of_regions = True

    def __init__(self, config: Config) -> None:
        sight = ViewSight(config.views, config.proposals)
        super().__init__(config, sight, MultimodalRNN(config, sight.channels))
