"""Text tower of a pretrained dual encoder: parts of words."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.encoders.adapter import Adapter
from models.encoders.halves import TextHalf
from models.encoders.source import EncoderSource, Files, family
from models.rooms import PREFIX
from models.text.parsing import SentenceReader
from models.towers import FragmentPlace, TextTower
from models.types import WHOLE_SENTENCE, PaddedBags, ParsedSentence, Span

LEAST_REST = 1e-5  # of a text's length: a larger rest is a fragment


@dataclass(frozen=True, slots=True)
class Config:
    """A source of weights (models.encoders.source) and options of the tower.

    `scale` multiplies cosines, half of it here and half in the image tower; `rank` is that of the
    trained map.
    """

    folder: str
    files: Files
    revision: str = ""
    scale: float = 100.0
    rank: int = 32
    precision: str = "float32"

    @property
    def source(self) -> EncoderSource:
        """The folder of the weights."""
        return EncoderSource(self.folder, self.files, self.revision)


class EncoderReader(SentenceReader):
    """Each word's part of a text's vector, and the rest, if any.

    The parts add up to the encoder's vector, of length one. The vocabulary is open: no word of a
    query is left out as unknown.
    """

    packaged = ("texts.",)
    any_word = True

    def __init__(self, config: Config) -> None:
        super().__init__()
        folder = config.source.check()
        module = importlib.import_module(f"{PREFIX}models.encoders.{family(folder)}")
        self.texts: TextHalf = module.Texts(folder, config.precision)
        self.config = config

    def forward(self, texts: Sequence[str]) -> tuple[list[Tensor], list[list[FragmentPlace]]]:
        """Parts (T, D) of each text, and their places; errors as in `parse`."""
        sentences = self.parse(texts)
        inputs = self.inputs(sentences)
        places = [
            self.places(sentence)[: len(parts)]
            for sentence, parts in zip(sentences, inputs, strict=True)
        ]
        return inputs, places

    def inputs(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Parts (T, D) of each sentence: of words, perhaps of the whole."""
        parts = self.texts(sentences).float()  # (L, W + 1, D)
        lengths = torch.linalg.vector_norm(parts.sum(1), dim=-1)  # (L,)
        parts = parts / lengths.clamp_min(1e-12)[:, None, None]
        rests = torch.linalg.vector_norm(parts[:, -1], dim=-1) > LEAST_REST
        return [
            torch.cat([vectors[: len(sentence.words)], vectors[-1:]])
            if has_rest
            else vectors[: len(sentence.words)]
            for vectors, sentence, has_rest in zip(parts, sentences, rests.tolist(), strict=True)
        ]

    def places(self, sentence: ParsedSentence) -> list[FragmentPlace]:
        """Words, then the whole sentence."""
        whole = (WHOLE_SENTENCE, Span(0, len(sentence.text)))
        return [*super().places(sentence), whole]

    def key(self) -> str:
        """The weights, and the way they compute."""
        return json.dumps(["pretrained", self.config.source.key, self.config.precision])


class Model(TextTower):
    """s_t = s (u_t + C u_t) / |Σ_t (u_t + C u_t)|, of a text's parts u_t.

    C is zero until it is trained: then s_t = s u_t.
    """

    stored_in_half = ("words.",)

    def __init__(self, config: Config) -> None:
        reader = EncoderReader(config)
        super().__init__(config, reader, reader.texts.dimension)
        self.words = Adapter(self.dimension, config.rank)
        self.log_scale = nn.Parameter(torch.tensor(math.log(config.scale) / 2))

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (L, T, D) of parts (L, T, D)."""
        u = inputs.vectors.float() * inputs.mask[..., None]
        u = u + self.words(u)
        lengths = torch.linalg.vector_norm(u.sum(1, keepdim=True), dim=-1, keepdim=True)
        return PaddedBags(self.log_scale.exp() * u / lengths.clamp_min(1e-12), inputs.mask)
