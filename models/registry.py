"""Registry of models: a module in image_towers/, text_towers/ or captioners/ is a model.

A model is a module there that exports `Config`, a frozen dataclass of plain values, and `Model`,
built as `Model(Config(...))`. Every model keeps one of the contracts below, towers those of
models.towers. A matcher has no folder: it is two towers and a score, whatever its name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Protocol

from torch import Tensor

from models.towers import Sight
from models.types import FragmentBag, Span

KINDS = ("image_towers", "text_towers", "captioners", "proposers", "grounders")
WIDEST_BEAM = 20
BEAM = 7  # hypotheses followed where nobody asks for another number (decision 0012)
MATCHERS = "matchers"  # the kind of models.matcher in checkpoints


class Matcher(Protocol):
    """Puts photos and sentences into one space. Safe to call from several threads."""

    dimension: int
    score: str  # a name in models.scores.scoring.SCORES

    @property
    def any_word(self) -> bool:
        """Whether no word of a text is unknown to it."""
        ...

    @property
    def sight(self) -> Sight:
        """What its photos are seen by."""
        ...

    def embed_images(self, images: Sequence[Tensor]) -> list[FragmentBag]:
        """Bags of uint8 RGB photos of any sizes, each (3, height, width)."""
        ...

    def embed_inputs(self, inputs: Sequence[Tensor], boxes: Sequence[Tensor]) -> list[FragmentBag]:
        """Bags of photos by what `sight` gave for each: inputs (F, C) and boxes (R, 4)."""
        ...

    def embed_sentences(self, texts: Sequence[str]) -> list[FragmentBag]:
        """Bags of sentences; ValueError for a text without words or with too many."""
        ...


@dataclass(frozen=True, slots=True)
class CaptionWord:
    """A word, the natural log of its probability after the words before it, and its attention.

    `attention` (R,) is how much each box of the sight counted for the word; it sums to one. None
    where the captioner does not attend to boxes.
    """

    text: str
    log_probability: float
    attention: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Caption:
    """A generated sentence and the natural log of its probability, its end counted.

    `familiarity` is how much the photo is like those that the captioner learned from, 0 to 1; None
    where it was not measured.
    """

    words: tuple[CaptionWord, ...]
    log_probability: float
    familiarity: float | None = None

    @property
    def text(self) -> str:
        """As a person reads it: the first letter in upper case, no full stop."""
        line = " ".join(word.text for word in self.words)
        return line[:1].upper() + line[1:]


@dataclass(frozen=True, slots=True)
class Generation:
    """How captions are generated: by beam search, or by sampling with a `temperature`.

    `count` captions a photo; `longest`: words, None for the captioner's own limit. Beam search
    ranks by log p / length^length_power. Sampling draws each word from the likeliest words that
    hold `top_p` of the probability (nucleus sampling, Holtzman et al. 2020), by `seed` if given.
    No run of `unique` words comes twice in a caption; 0 allows it. A caption has none of the words
    `never`.
    """

    beam: int = BEAM
    count: int = 1
    longest: int | None = None
    length_power: float = 0.0
    temperature: float | None = None
    top_p: float = 0.9
    seed: int | None = None
    unique: int = 3
    never: frozenset[str] = frozenset()

    @property
    def candidates(self) -> Generation:
        """The same with every caption that is found: as many as the beam is wide, or are drawn."""
        return self if self.temperature is not None else replace(self, count=self.beam)

    def __post_init__(self) -> None:
        if not 1 <= self.count <= WIDEST_BEAM or not 1 <= self.beam <= WIDEST_BEAM:
            raise ValueError(
                f"count {self.count} and beam {self.beam} must be from 1 to {WIDEST_BEAM}"
            )
        if self.temperature is None and self.count > self.beam:
            raise ValueError(f"count: a beam of {self.beam} gives at most as many captions")
        if self.longest is not None and self.longest < 1:
            raise ValueError(f"longest is {self.longest}; a caption has at least 1 word")
        if self.temperature is not None and not self.temperature > 0:
            raise ValueError(f"temperature is {self.temperature}; use more than 0")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}; use more than 0 and at most 1")


class Captioner(Protocol):
    """Describes photos. Safe to call from several threads."""

    sight: Sight

    @property
    def of_regions(self) -> bool:
        """Whether it can describe a region by its features (1, C) alone."""
        ...

    def describe(self, inputs: Sequence[Tensor], generation: Generation) -> list[list[Caption]]:
        """The best captions of photos by what `sight` gave for each (F, C), best first."""
        ...

    def find_absent_words(self, inputs: Tensor) -> frozenset[str]:
        """Words that no caption of a photo, or of its regions, may have, by its inputs (F, C)."""
        ...


class Grounder(Protocol):
    """Finds what phrases mean in a photo. Safe to call from several threads."""

    def locate(self, image: Tensor, text: str, spans: Sequence[Span]) -> tuple[Tensor, Tensor]:
        """Boxes (R, 4) of a uint8 RGB photo (3, height, width), and each span's similarity to each.

        The similarities are (P, R). ValueError for a span without words.
        """
        ...


def names(kind: str) -> list[str]:
    """The models of a kind, one of KINDS, in alphabetical order."""
    if kind not in KINDS:
        raise LookupError(f"no kind of model {kind!r}; there are: {', '.join(KINDS)}")
    package = importlib.import_module(f"models.{kind}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def find(kind: str, name: str) -> ModuleType:
    """The module of one model; LookupError names the ones there are."""
    if kind == MATCHERS:
        return importlib.import_module("models.matcher")
    registered = names(kind)
    if name not in registered:
        raise LookupError(f"no model {name!r} among {kind}; there are: {', '.join(registered)}")
    return importlib.import_module(f"models.{kind}.{name}")
