"""Deep visual-semantic alignments: regions and a BRNN's words (Karpathy & Fei-Fei, CVPR 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from models.matcher import BagMatcher
from models.parsing import parse
from models.regions import RegionEncoder
from models.types import PaddedBags, ParsedSentence, Span
from models.words import BRNN, Vocabulary


@dataclass(frozen=True, slots=True)
class Config:
    """The vocabulary (from train alone) and sizes; `words` empty means every word is unknown.

    Lite0 features of windows stand for the paper's R-CNN detections, and word vectors are learned
    from scratch, which the paper found to change little (section 3.1.2).
    """

    words: tuple[str, ...] = ()
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (448,)
    embedding: int = 512
    word_vector: int = 300
    hidden: int = 400
    dropout: float = 0.3


class Model(BagMatcher):
    """S_kl = Σ_t max_i v_iᵀ s_t over regions (eq. 1) and words in context (eq. 2-6)."""

    def __init__(self, config: Config) -> None:
        super().__init__(config.backbone, tuple(config.sizes))
        self.config = config
        self.dimension = config.embedding
        self.vocabulary = Vocabulary(config.words)
        self.regions = RegionEncoder(self.sight.channels, config.embedding, config.dropout)
        self.words = BRNN(
            len(self.vocabulary),
            config.word_vector,
            config.hidden,
            config.embedding,
            config.dropout,
        )

        # Scores start near zero, so that the hinges of eq. 9 start near their margin.
        for project in (self.regions.project, self.words.project):
            nn.init.normal_(project.weight, std=0.01)

    def prepare(self, images: Sequence[Tensor], *_: object) -> None:
        """Measure train's regions."""
        self.regions.fit(images)

    def sentence_inputs(self, texts: Sequence[str]) -> list[Tensor]:
        """Word indices (T, 1) of each sentence."""
        return [self.vocabulary.encode(parse(text))[:, None] for text in texts]

    def sentence_key(self) -> str:
        """The vocabulary decides the indices."""
        return "indices " + " ".join(self.config.words)

    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """v_i (K, R, D)."""
        return PaddedBags(
            self.regions(inputs.vectors.to(self.regions.project.weight.device)), inputs.mask
        )

    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """s_t (L, T, D)."""
        device = self.words.look_up.weight.device
        indices, mask = inputs.vectors[..., 0].to(device), inputs.mask.to(device)
        return PaddedBags(self.words(indices, mask), mask)

    def sentence_places(self, sentence: ParsedSentence) -> list[tuple[str, Span]]:
        """A fragment a word."""
        return [(word.text, word.span) for word in sentence.words]
