"""Grounded compositional semantics: sentences grow along trees (Socher et al., TACL 2014)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.components import PrincipalComponents
from models.matcher import VectorMatcher
from models.parsing import parse_trees, parser_key, require
from models.regions import Standardize
from models.sequences import MeanEncoder, RecurrentEncoder
from models.trees import (
    ACTIVATIONS,
    ConstituencyEncoder,
    DependencyEncoder,
    heads,
    merges,
    near_identity,
    positions,
    relations,
)
from models.types import PaddedBags, ParsedSentence
from models.words import MINILM_HIDDEN, WordVectors

SEQUENCES = ("average", "sequence")  # compositions that need no tree
TREES = ("relation", "position", "constituency")  # in the order of their columns, after heads


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes, and how words are composed: the paper's two models and its comparisons.

    composition: "relation" is SDT-RNN, "position" DT-RNN, "constituency" CT-RNN, "sequence" the
    recurrent network, "average" the bag of words. `relations` are train's frequent ones, the
    others share a matrix, as do positions past `reach` on either side. `parser` is the key of the
    one that drew the trees. `unit` gives v and y length one: the paper does not, and then long y
    answer every photo. `euclidean` scores by −‖v − y‖² (section 6.4) and not by vᵀy.
    `components`: numbers a frame is reduced to before W_I.
    """

    composition: str = "relation"
    activation: str = "identity"
    relations: tuple[str, ...] = ()
    parser: str = ""
    reach: int = 5
    unit: bool = True
    euclidean: bool = False
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    components: int = 300
    hidden: int = 200
    frame_dropout: float = 0.4
    word_dropout: float = 0.3

    @property
    def learned(self) -> tuple[str, ...]:
        """The fields that training fills, by train's sentences and their parser."""
        if self.composition not in TREES:
            return ()
        return ("relations", "parser") if self.composition == "relation" else ("parser",)


class Model(VectorMatcher):
    """S_kl = v_kᵀ y_l of mapped frames v = W_I z and composed sentences y (eq. 5)."""

    packaged = ("sight.", "vectors.")

    def __init__(self, config: Config) -> None:
        super().__init__(config.backbone, tuple(config.sizes))
        self.config = config
        require(config.parser)
        C, H = self.sight.channels, config.hidden
        self.dimension = H + 2 * config.euclidean
        self.standardize = Standardize(C)
        self.frame = PrincipalComponents(C, config.components, whiten=False)
        self.frame_dropout = nn.Dropout(config.frame_dropout)
        self.project = nn.Linear(config.components, H)  # W_I
        # Scores start near zero, so that the hinges of eq. 5 start near their margin.
        nn.init.normal_(self.project.weight, std=0.1 * config.components**-0.5)
        self.vectors = WordVectors()
        self.word = PrincipalComponents(MINILM_HIDDEN, MINILM_HIDDEN, whiten=False)
        self.word_dropout = nn.Dropout(config.word_dropout)
        self.enter = nn.Linear(MINILM_HIDDEN, H, bias=False)  # W_v
        self.enter.weight = nn.Parameter(near_identity(MINILM_HIDDEN)[:H].clone())
        self.compose = composer(config)

    def prepare(
        self, images: Sequence[Tensor], sentences: Sequence[Tensor], owners: Sequence[int]
    ) -> None:
        """Measure train's photos, and the words of one sentence of each."""
        self.standardize.fit(images)
        device = self.enter.weight.device
        self.frame.fit(self.standardize(torch.cat([one.to(device) for one in images])))
        first = {owner: place for place, owner in enumerate(owners)}
        words = torch.cat([sentences[place] for place in first.values()])
        self.word.fit(words[:, :MINILM_HIDDEN].to(device))

    def sentences(self, texts: Sequence[str]) -> list[ParsedSentence]:
        """Trees, or words where no tree is needed."""
        return super().sentences(texts) if self.flat else parse_trees(texts)

    @property
    def flat(self) -> bool:
        """Whether words are composed without a tree."""
        return self.config.composition in SEQUENCES

    def frozen(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Word vectors (T, W), with a tree's four columns after them where there is one."""
        vectors: list[Tensor] = self.vectors(sentences)
        if self.flat:
            return vectors
        trees = [columns(sentence, self.config) for sentence in sentences]
        return [torch.cat([x, tree.to(x)], 1) for x, tree in zip(vectors, trees, strict=True)]

    def sentence_key(self) -> str:
        """The vectors, and for trees the parser and what numbers edges."""
        config = self.config
        trees = [] if self.flat else [parser_key(), config.relations, config.reach]
        return json.dumps(["word vectors", *trees])

    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """Photos' vectors v (K, 1, D) of inputs (K, 1, C)."""
        z = self.frame(self.standardize(inputs.vectors.to(self.enter.weight.device)))
        v = self.scaled(self.project(self.frame_dropout(z)))
        if self.config.euclidean:  # [2v; −‖v‖²; 1]ᵀ [y; 1; −‖y‖²] = −‖v − y‖²
            v = torch.cat([2 * v, -v.square().sum(-1, True), torch.ones_like(v[..., :1])], -1)
        return PaddedBags(v, inputs.mask.to(v.device))

    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """Sentences' vectors y (L, 1, D) of inputs (L, T, W) or (L, T, W + 4)."""
        device = self.enter.weight.device
        words, mask = inputs.vectors.to(device), inputs.mask.to(device)
        x = self.enter(self.word_dropout(self.word(words[..., :MINILM_HIDDEN]))).float()
        if self.flat:
            y = self.compose(x, mask)
        else:
            tree = words[..., MINILM_HIDDEN:].long().unbind(-1)
            y = self.compose(x, mask, tree[0], tree[1 + TREES.index(self.config.composition)])
        y = self.scaled(y)
        if self.config.euclidean:
            y = torch.cat([y, torch.ones_like(y[:, :1]), -y.square().sum(-1, True)], -1)
        return PaddedBags(y[:, None], mask[:, :1])

    def scaled(self, vectors: Tensor) -> Tensor:
        """Vectors (…, H) in full precision, of length one where the model wants that."""
        return F.normalize(vectors.float(), dim=-1) if self.config.unit else vectors.float()


def columns(sentence: ParsedSentence, config: Config) -> Tensor:
    """A tree in numbers (T, 4): heads, then relations, positions and steps of a binary tree."""
    above = heads(sentence)
    kinds = (
        relations(sentence, config.relations),
        positions(above, config.reach),
        merges(above),
    )
    return torch.tensor([above, *kinds]).T


def composer(config: Config) -> nn.Module:
    """The encoder of a composition; ValueError names the ones there are."""
    H, activations = config.hidden, ACTIVATIONS
    if config.activation not in activations:
        raise ValueError(
            f"no activation {config.activation!r}; there are: {', '.join(activations)}"
        )
    f = activations[config.activation]
    makers: dict[str, Callable[[], nn.Module]] = {
        "relation": lambda: DependencyEncoder(1 + len(config.relations), H, f),
        "position": lambda: DependencyEncoder(1 + 2 * config.reach, H, f),
        "constituency": lambda: ConstituencyEncoder(H, f),
        "sequence": lambda: RecurrentEncoder(H, f),
        "average": MeanEncoder,
    }
    if config.composition not in makers:
        raise ValueError(f"no composition {config.composition!r}; there are: {', '.join(makers)}")
    return makers[config.composition]()
