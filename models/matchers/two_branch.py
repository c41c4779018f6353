"""Two-branch structure-preserving embeddings, one vector a side (Wang et al., CVPR 2016)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from models.branches import Branch
from models.fisher import FisherVectors
from models.matcher import VectorMatcher
from models.regions import Standardize
from models.sentences import MeanVector, TfIdf
from models.types import PaddedBags, ParsedSentence
from models.words import MINILM_HIDDEN, Vocabulary, WordVectors

TEXTS = ("hglmm", "mean", "tfidf")


@dataclass(frozen=True, slots=True)
class Config:
    """What a sentence is before its branch, and whether branches are linear; sizes.

    Lite0 features stand for the paper's VGG-19, MiniLM's vectors of single words for its word2vec.
    hglmm: `axes` numbers a word, `components` of the mixture, `principal` numbers a sentence.
    tfidf: `words` are train's frequent ones as they are said; the paper takes their lemmas.
    """

    text: str = "hglmm"
    linear: bool = False
    words: tuple[str, ...] = ()
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    axes: int = 64
    components: int = 30
    principal: int = 1000
    hidden: int = 1024
    embedding: int = 512
    dropout: float = 0.2
    photo_dropout: float = 0.5
    text_dropout: float = 0.2

    def __post_init__(self) -> None:
        if self.text not in TEXTS:
            raise ValueError(f"no text features {self.text!r}; there are: {', '.join(TEXTS)}")

    @property
    def learned(self) -> tuple[str, ...]:
        """The fields that train's sentences fill."""
        return ("words",) if self.text == "tfidf" else ()


class Model(VectorMatcher):
    """S_kl = x_kᵀ y_l of unit vectors: 1 − d²/2, and so ranked as the paper's distance d."""

    packaged = ("sight.", "vectors.")

    def __init__(self, config: Config) -> None:
        super().__init__(config.backbone, tuple(config.sizes))
        self.config = config
        self.dimension = config.embedding
        hidden = 0 if config.linear else config.hidden
        sizes = hidden, config.embedding, config.dropout
        self.vocabulary = Vocabulary(config.words)
        if config.text != "tfidf":
            self.vectors = WordVectors()
        self.text = self.text_features()
        self.standardize = Standardize(self.sight.channels)
        self.x = Branch(self.sight.channels, *sizes, config.photo_dropout)
        self.y = Branch(self.text.features, *sizes, config.text_dropout)

    def text_features(self) -> FisherVectors | MeanVector | TfIdf:
        """What makes a sentence's words one vector."""
        config = self.config
        if config.text == "tfidf":
            return TfIdf(len(self.vocabulary))
        if config.text == "mean":
            return MeanVector(MINILM_HIDDEN)
        return FisherVectors(MINILM_HIDDEN, config.axes, config.components, config.principal)

    def prepare(self, images: Sequence[Tensor], sentences: Sequence[Tensor], _: object) -> None:
        """Measure train's photos, and fit what makes a sentence one vector."""
        self.standardize.fit(images)
        self.text.fit(sentences)

    def frozen(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Word vectors (T, W); for tf-idf word numbers (T, 1)."""
        if self.config.text == "tfidf":
            return [self.vocabulary.encode(sentence)[:, None] for sentence in sentences]
        vectors: list[Tensor] = self.vectors(sentences)
        return vectors

    def sentence_key(self) -> str:
        """Word vectors are the same for every matcher; numbers are the vocabulary's."""
        tfidf = self.config.text == "tfidf"
        return json.dumps(["word numbers", self.config.words] if tfidf else ["word vectors"])

    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """Photos x_k (K, 1, D) of inputs (K, 1, C)."""
        frames = inputs.vectors[:, 0].to(self.standardize.mean.device)
        return PaddedBags(self.x(self.standardize(frames))[:, None], inputs.mask.to(frames.device))

    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """Sentences y_l (L, 1, D) of inputs (L, T, W)."""
        device = self.standardize.mean.device
        mask = inputs.mask.to(device)
        y = self.y(self.text(inputs.vectors.to(device), mask))  # (L, D)
        return PaddedBags(y[:, None], mask[:, :1])
