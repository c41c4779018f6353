"""Registry of models: a module in image_towers/, text_towers/ or captioners/ is a model.

A model is a module there that exports `Config`, a frozen dataclass of plain values, and `Model`,
built as `Model(Config(...))`. Every model keeps one of the contracts below, towers those of
models.towers. A matcher has no folder: it is two towers and a score, whatever its name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

from torch import Tensor

from models.types import FragmentBag, Span

KINDS = ("image_towers", "text_towers", "captioners", "proposers", "grounders")
MATCHERS = "matchers"  # the kind of models.matcher in checkpoints


class Matcher(Protocol):
    """Puts photos and sentences into one space. Safe to call from several threads."""

    dimension: int
    score: str  # a name in models.scoring.SCORES

    @property
    def any_word(self) -> bool:
        """Whether no word of a text is unknown to it."""
        ...

    def embed_images(self, images: Sequence[Tensor]) -> list[FragmentBag]:
        """Bags of uint8 RGB photos of any sizes, each (3, height, width)."""
        ...

    def embed_sentences(self, texts: Sequence[str]) -> list[FragmentBag]:
        """Bags of sentences; ValueError for a text without words or with too many."""
        ...


@dataclass(frozen=True, slots=True)
class Caption:
    """A generated sentence and its log-probability (natural log, summed over words)."""

    text: str
    log_probability: float


class Captioner(Protocol):
    """Describes photos. Safe to call from several threads."""

    def describe(self, images: Sequence[Tensor], *, beam: int, count: int) -> list[list[Caption]]:
        """The `count` best captions of each uint8 RGB photo (3, height, width), best first."""
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
    known = names(kind)
    if name not in known:
        raise LookupError(f"no model {name!r} among {kind}; there are: {', '.join(known)}")
    return importlib.import_module(f"models.{kind}.{name}")
