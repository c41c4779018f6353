"""A matcher of four cells: small enough to train in a test, whole enough to be searched with."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from models.parsing import parse
from models.types import Box, FragmentBag, PaddedBags
from models.words import Vocabulary

PIXELS = 8  # a cell's side as the matcher sees it
BOXES = tuple(
    Box(column / 2, row / 2, (column + 1) / 2, (row + 1) / 2)
    for row in range(2)
    for column in range(2)
)


@dataclass(frozen=True, slots=True)
class Config:
    dimension: int = 32
    dropout: float = 0.1
    words: tuple[str, ...] = ()

    @property
    def learned(self):
        return ("words",)


class Model(nn.Module):
    score = "sum_of_max"
    tuned = False

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, self.dimension = config, config.dimension
        self.vocabulary = Vocabulary(config.words)
        self.regions = nn.Sequential(
            nn.Linear(3 * PIXELS**2, 64),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(64, config.dimension),
        )
        self.words = nn.Embedding(len(self.vocabulary), config.dimension)

    def image_inputs(self, images):
        small = [
            F.interpolate(image[None].float() / 255, (2 * PIXELS, 2 * PIXELS), mode="area")
            for image in images
        ]
        cells = F.unfold(torch.cat(small), PIXELS, stride=PIXELS)  # (K, 3 · PIXELS², 4)
        return list(cells.transpose(1, 2))

    def sentence_inputs(self, texts):
        return [self.vocabulary.encode(parse(text))[:, None] for text in texts]

    def encode_images(self, inputs):
        return PaddedBags(self.regions(inputs.vectors), inputs.mask)

    def encode_sentences(self, inputs):
        return PaddedBags(self.words(inputs.vectors[..., 0]), inputs.mask)

    def image_key(self):
        return f"cells {PIXELS}"

    def sentence_key(self):
        return f"words {self.config.words}"

    @torch.inference_mode()
    def embed_images(self, images):
        encoded = self.encode_images(PaddedBags.of(self.image_inputs(images)))
        return [FragmentBag(one, BOXES, ("cell",) * 4) for one in encoded.vectors]

    @torch.inference_mode()
    def embed_sentences(self, texts):
        encoded = self.encode_sentences(PaddedBags.of(self.sentence_inputs(texts)))
        words = [parse(text).words for text in texts]
        return [
            FragmentBag(one[: len(own)], tuple(w.span for w in own), tuple(w.text for w in own))
            for one, own in zip(encoded.vectors, words, strict=True)
        ]
