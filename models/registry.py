"""Registry of models: a module in a registry's folder is one.

A model is a module there that exports `Config`, a frozen dataclass of plain values, and `Model`,
built as `Model(Config(...))`. Every model keeps one of the contracts below, towers those of
models.towers. A matcher of any name has no folder: it is two towers and a score.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Protocol

from torch import Tensor

from models.rooms import PREFIX
from models.towers import Sight
from models.types import FragmentBag, Span

KINDS = ("image_towers", "text_towers", "captioners", "proposers", "grounders")
WIDEST_BEAM = 20
BEAM = 7  # hypotheses of a beam search by default (decision 0012)
MATCHERS = "matchers"  # the kind of models.matcher in checkpoints


class Matcher(Protocol):
    """Puts photos and sentences into one space; thread-safe."""

    dimension: int
    score: str  # a name in models.scores.scoring.SCORES
    any_word: bool  # whether all words are known

    @property
    def sight(self) -> Sight:
        """The frozen part for photos."""
        ...

    def embed_images(self, images: Sequence[Tensor]) -> list[FragmentBag]:
        """Bags of uint8 RGB photos of any sizes, each (3, height, width)."""
        ...

    def embed_inputs(self, inputs: Sequence[Tensor], boxes: Sequence[Tensor]) -> list[FragmentBag]:
        """Bags of photos from the outputs of `sight`: inputs (F, C) and boxes (R, 4)."""
        ...

    def embed_sentences(self, texts: Sequence[str]) -> list[FragmentBag]:
        """Bags of sentences; ValueError for a text without words or too many."""
        ...


@dataclass(frozen=True, slots=True)
class CaptionWord:
    """A word with its log-probability after the previous words, and its attention.

    `attention` (R,) is the share of each box of the sight, with a sum of one; None if the captioner
    has no attention to boxes.
    """

    text: str
    log_probability: float
    attention: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Caption:
    """A generated sentence with its log-probability, the end included.

    `familiarity` is the photo's likeness to the captioner's training photos, 0 to 1; None if not
    measured.
    """

    words: tuple[CaptionWord, ...]
    log_probability: float
    familiarity: float | None = None

    @property
    def text(self) -> str:
        """The caption as one line, capitalised, without a full stop."""
        line = " ".join(word.text for word in self.words)
        return line[:1].upper() + line[1:]


@dataclass(frozen=True, slots=True)
class Generation:
    """The way to generate captions: beam search, or sampling with a `temperature`.

    `count` captions a photo, of at most `longest` words, None for the captioner's own limit. Beam
    search ranks by log p / length^length_power. Sampling draws each word from the likeliest words
    with `top_p` of the probability (nucleus sampling, Holtzman et al. 2020), by `seed` if given.
    No run of `unique` words comes twice in a caption; 0 allows it. No caption has one of the words
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
        """The same generation with all captions: the beam's width, or all samples."""
        return self if self.temperature is not None else replace(self, count=self.beam)

    def __post_init__(self) -> None:
        if not 1 <= self.count <= WIDEST_BEAM or not 1 <= self.beam <= WIDEST_BEAM:
            raise ValueError(
                f"count {self.count} and beam {self.beam} must be from 1 to {WIDEST_BEAM}"
            )
        if self.temperature is None and self.count > self.beam:
            raise ValueError(
                f"count: a beam of {self.beam} gives at most as many captions; set a beam of at "
                f"least {self.count}"
            )
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
        """Return whether a region's features (1, C) alone are enough for a caption."""
        ...

    def describe(self, inputs: Sequence[Tensor], generation: Generation) -> list[list[Caption]]:
        """The best captions of photos, by the sight's inputs (F, C), best first."""
        ...

    def find_absent_words(self, inputs: Tensor) -> frozenset[str]:
        """Words to leave out of a photo's captions, by its inputs (F, C)."""
        ...


class Grounder(Protocol):
    """Finds phrases in a photo; thread-safe."""

    def locate(self, image: Tensor, text: str, spans: Sequence[Span]) -> tuple[Tensor, Tensor]:
        """Boxes (R, 4) of a photo (3, height, width), and each span's similarity to each.

        The similarities are (P, R). ValueError for a span without words.
        """
        ...


def names(kind: str) -> list[str]:
    """The models of a kind, one of KINDS, in alphabetical order."""
    if kind not in KINDS:
        raise LookupError(f"no kind of model {kind!r}; there are: {', '.join(KINDS)}")
    package = importlib.import_module(f"{PREFIX}models.{kind}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def find(kind: str, name: str) -> ModuleType:
    """The module of one model; LookupError names the ones there are."""
    if kind == MATCHERS:
        return importlib.import_module(f"{PREFIX}models.matcher")
    registered = names(kind)
    if name not in registered:
        raise LookupError(f"no model {name!r} among {kind}; there are: {', '.join(registered)}")
    return importlib.import_module(f"{PREFIX}models.{kind}.{name}")
