"""Deep fragment embeddings: regions and dependency relations (Karpathy, Joulin, Fei-Fei 2014)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from models import proposals
from models.edges import Edge, EdgeEncoder, alone, bigrams, dependencies, joined, places
from models.matcher import BagMatcher
from models.parsing import parse_trees, parser_key, require
from models.proposals import Windows
from models.regions import RegionEncoder
from models.types import WHOLE_FRAME, PaddedBags, ParsedSentence, Span
from models.words import MINILM_HIDDEN, WordVectors

FRAGMENTS = ("dependencies", "bigrams", "words")


@dataclass(frozen=True, slots=True)
class Config:
    """What the fragments of a sentence are, and whether the whole frame is a photo's only one.

    Lite0 features of windows stand for the paper's R-CNN detections, MiniLM's vectors of single
    words for those of Huang et al., both fixed; `tuned` trains the CNN as well. `relations` are
    train's, those above 1 %, and `parser` is the key of the one that found them.
    """

    fragments: str = "dependencies"
    full_frame: bool = False
    relations: tuple[str, ...] = ()
    parser: str = ""
    proposals: str = "windows"
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (448,)
    tuned: bool = False
    embedding: int = 256
    region_dropout: float = 0.5
    word_dropout: float = 0.3

    def __post_init__(self) -> None:
        if self.fragments not in FRAGMENTS:
            raise ValueError(f"no fragments {self.fragments!r}; there are: {', '.join(FRAGMENTS)}")

    @property
    def learned(self) -> tuple[str, ...]:
        """The fields that training fills, by train's sentences and their parser."""
        return ("relations", "parser") if self.fragments == "dependencies" else ()


class Model(BagMatcher):
    """S_kl = mean of max(0, v_iᵀ s_j) (eq. 6) over regions (eq. 2) and relations (eq. 1)."""

    score = "mean_of_positive"
    packaged = ("sight.", "vectors.")

    def __init__(self, config: Config) -> None:
        frame = Windows([WHOLE_FRAME])
        proposer = frame if config.full_frame else proposals.load(config.proposals)
        super().__init__(config.backbone, tuple(config.sizes), proposer, config.tuned)
        self.config = config
        require(config.parser)
        self.dimension = config.embedding
        C, D = self.sight.channels, config.embedding
        self.regions = RegionEncoder(C, D, config.region_dropout)
        # Similarities start well inside the hinges of eq. 4.
        nn.init.normal_(self.regions.project.weight, std=0.1 * C**-0.5)
        self.vectors = WordVectors()
        kinds = len(config.relations) if config.fragments == "dependencies" else 0
        self.pairs = EdgeEncoder(MINILM_HIDDEN, 1 + kinds, D, config.word_dropout)

    def prepare(self, images: Sequence[Tensor], *_: object) -> None:
        """Measure train's regions."""
        self.regions.fit(images)

    def sentences(self, texts: Sequence[str]) -> list[ParsedSentence]:
        """Trees for dependencies, words for the others."""
        trees = self.config.fragments == "dependencies"
        return parse_trees(texts) if trees else super().sentences(texts)

    def edges(self, sentence: ParsedSentence) -> list[Edge]:
        """Which word is paired with which."""
        if self.config.fragments == "dependencies":
            return dependencies(sentence, self.config.relations)
        return bigrams(sentence) if self.config.fragments == "bigrams" else alone(sentence)

    def frozen(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Word vectors, heads and relations, (T, W + 2)."""
        return joined(self.vectors(sentences), [self.edges(one) for one in sentences])

    def sentence_key(self) -> str:
        """The fragments, and for relations the parser and which they are."""
        fragments = self.config.fragments
        trees = [parser_key(), self.config.relations] if fragments == "dependencies" else []
        return json.dumps(["word vectors", fragments, *trees])

    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """v_i (K, R, D)."""
        device = self.regions.project.weight.device
        return PaddedBags(self.regions(inputs.vectors.to(device)), inputs.mask.to(device))

    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """s_j (L, F, D), one for each pair whose relation is kept."""
        device = self.regions.project.weight.device
        return self.pairs.bags(inputs.vectors.to(device), inputs.mask.to(device))

    def sentence_places(self, sentence: ParsedSentence) -> list[tuple[str, Span]]:
        """A fragment a pair, at its dependent word."""
        return places(sentence, self.edges(sentence))
