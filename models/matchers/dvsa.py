"""Deep visual-semantic alignments: regions and words in context (Karpathy & Fei-Fei, CVPR 2015)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from models import proposals
from models.edges import EdgeEncoder, dependencies, joined, places
from models.matcher import BagMatcher
from models.parsing import parse_trees, parser_key, require
from models.regions import RegionEncoder
from models.types import PaddedBags, ParsedSentence, Span
from models.words import BRNN, MINILM_HIDDEN, WordVectors


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; `edges` takes dependency relations for fragments, the paper's "DepTree edges".

    Lite0 features of windows stand for the paper's R-CNN detections, MiniLM's vectors of single
    words for its word2vec, both fixed; `tuned` trains the CNN as well. `relations` are train's
    frequent ones, and `parser` the key of the one that found them.
    """

    edges: bool = False
    relations: tuple[str, ...] = ()
    parser: str = ""
    proposals: str = "windows"
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (448,)
    tuned: bool = False
    embedding: int = 256
    hidden: int = 400
    region_dropout: float = 0.5
    word_dropout: float = 0.3

    @property
    def learned(self) -> tuple[str, ...]:
        """The fields that training fills, by train's sentences and their parser."""
        return ("relations", "parser") if self.edges else ()


class Model(BagMatcher):
    """S_kl = Σ_t max_i v_iᵀ s_t (eq. 8) over regions (eq. 1) and words in context (eq. 2-6)."""

    packaged = ("sight.", "vectors.")

    def __init__(self, config: Config) -> None:
        proposer = proposals.load(config.proposals)
        super().__init__(config.backbone, tuple(config.sizes), proposer, config.tuned)
        self.config = config
        require(config.parser)
        self.dimension = config.embedding
        C, D, dropout = self.sight.channels, config.embedding, config.word_dropout
        self.regions = RegionEncoder(C, D, config.region_dropout)
        # Scores start near zero, so that the hinges of eq. 9 start near their margin.
        nn.init.normal_(self.regions.project.weight, std=0.1 * C**-0.5)
        self.vectors = WordVectors()
        self.words = (
            EdgeEncoder(MINILM_HIDDEN, 1 + len(config.relations), D, dropout)
            if config.edges
            else BRNN(MINILM_HIDDEN, config.hidden, D, dropout)
        )

    def prepare(self, images: Sequence[Tensor], *_: object) -> None:
        """Measure train's regions."""
        self.regions.fit(images)

    def sentences(self, texts: Sequence[str]) -> list[ParsedSentence]:
        """Trees for edges, words for the BRNN."""
        return parse_trees(texts) if self.config.edges else super().sentences(texts)

    def frozen(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Word vectors (T, W); for edges with two more columns, heads and relations."""
        vectors: list[Tensor] = self.vectors(sentences)
        if not self.config.edges:
            return vectors
        edges = [dependencies(sentence, self.config.relations) for sentence in sentences]
        return joined(vectors, edges)

    def sentence_key(self) -> str:
        """The vectors, and for edges the parser and the relations."""
        if not self.config.edges:
            return json.dumps(["word vectors"])
        return json.dumps(["word vectors", "dependencies", parser_key(), self.config.relations])

    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """v_i (K, R, D)."""
        device = self.regions.project.weight.device
        return PaddedBags(self.regions(inputs.vectors.to(device)), inputs.mask.to(device))

    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """s_t (L, T, D)."""
        device = self.regions.project.weight.device
        x, mask = inputs.vectors.to(device), inputs.mask.to(device)
        if isinstance(self.words, BRNN):
            return PaddedBags(self.words(x, mask), mask)
        return self.words.bags(x, mask)

    def sentence_places(self, sentence: ParsedSentence) -> list[tuple[str, Span]]:
        """A fragment a word, or a relation."""
        if not self.config.edges:
            return [(word.text, word.span) for word in sentence.words]
        return places(sentence, dependencies(sentence, self.config.relations))
