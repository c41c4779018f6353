"""ImageNet's classes in words: their names and broader terms, as vectors of MiniLM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from models import shipped
from models.text.words import MINILM_HIDDEN, LowerMiniLM
from models.types import ParsedSentence, Span, Word

FILE = shipped.CLASS_NAMES
BROADER = 0.25  # the weight of the first broader term; a class's own names have 1
DISTANCE = 0.6  # the factor of the weight for each further step


def names() -> list[list[list[str]]]:
    """The 1,000 classes in the classifiers' order: own names, then broader terms.

    From WordNet 3.0; a line a class, levels separated by " > ", synonyms by "; ".
    """
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [
        [level.split("; ") for level in line.split(" > ")]
        for line in lines
        if not line.startswith("#")
    ]


def naming_texts(count: int) -> list[str]:
    """Texts for `count` classes, spread evenly: "a photo of a goldfish"."""
    first_names = [levels[0][0] for levels in names()]
    chosen = torch.linspace(0, len(first_names) - 1, count).round().long().tolist()
    return [f"a photo of a {first_names[k]}" for k in chosen]


@cache
def vectors() -> Tensor:
    """A unit vector of each class, (1000, 384), around the mean of all.

    The mean of MiniLM's vectors of a class's names, as in ConSE (Norouzi et al. 2014),
    and with less weight those of broader terms: "sorrel" is a horse.
    """
    vector = name_vectors()
    together = torch.stack([class_vector(levels, vector) for levels in names()])  # (1000, 384)
    return F.normalize(together - together.mean(0), dim=-1)


@cache
def name_vectors() -> dict[str, Tensor]:
    """MiniLM's vector (384,) of every name and broader term."""
    terms = list(dict.fromkeys(name for levels in names() for level in levels for name in level))
    return dict(zip(terms, sentence_vectors(terms), strict=True))


def mean_name() -> Tensor:
    """The mean (384,) of the vectors of all names."""
    return torch.stack([*name_vectors().values()]).mean(0)


def class_vector(levels: Sequence[Sequence[str]], vector: dict[str, Tensor]) -> Tensor:
    """A class's unit vector (384,): the weighted sum of its names' vectors."""
    class_names, *broader = levels
    total = torch.stack([vector[name] for name in class_names]).mean(0)
    for distance, level in enumerate(broader):
        weight = BROADER * DISTANCE**distance
        total = total + weight * torch.stack([vector[name] for name in level]).sum(0)
    return F.normalize(total, dim=0)


@torch.inference_mode()
def sentence_vectors(texts: Sequence[str]) -> Tensor:
    """MiniLM's mean state over each text's words, of unit length, (N, 384)."""
    network = LowerMiniLM()
    states = []
    for first in range(0, len(texts), 256):
        states += network([words_of(text) for text in texts[first : first + 256]])
    return F.normalize(torch.stack([state[1:-1].mean(0) for state in states]), dim=-1)


def words_of(text: str) -> ParsedSentence:
    """A name as words; nothing but spaces separates them."""
    words, start = [], 0
    for part in text.lower().split(" "):
        words.append(Word(part, Span(start, start + len(part))))
        start += len(part) + 1
    return ParsedSentence(text, tuple(words))


@cache
def directions(count: int) -> Tensor:
    """The `count` main directions (384, D) of the names of classes.

    Orthonormal, and orthogonal to the mean of all names: any text has much of that. ValueError for
    more than there are.
    """
    if count > MINILM_HIDDEN:
        raise ValueError(f"{count} directions of names are too many: there are {MINILM_HIDDEN}")
    common = F.normalize(mean_name(), dim=0)
    apart = vectors() - (vectors() @ common)[:, None] * common
    directions: Tensor = torch.linalg.svd(apart, full_matrices=False)[2]  # (384, 384)
    return directions[:count].T.contiguous()
