"""Things: names in a text, and the score from which on a photo shows one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import tanh
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from models.text.lexicon import is_function_word, plain, singulars
from models.types import FragmentBag, Span, Word

if TYPE_CHECKING:
    from torch import Tensor

Array = TypeVar("Array", NDArray[np.float32], "Tensor")  # of the processor or of a GPU

# What a negated thing takes from the score where it is there: more than scores differ by, so that
# these photos come behind all others.
DENIED = 100.0
# What a unit of score counts next to probabilities: where these are certain, the clearest come
# first, and so many units below the threshold all count the same.
CLEARER, CLEAREST = 2.0**-12, 64.0
ROUNDING = 2.0**-19  # what counts in single precision are off by, for each unit of theirs
LONGEST_NAME = 3  # words: "potted plant"


@dataclass(frozen=True, slots=True)
class Condition:
    """When a part's thing is there: where its score S reaches `threshold`.

    The probability of the thing is p = σ(S + bias). The part counts log p less what that is
    at the threshold, a negated one −log(1 − p), and DENIED where it is there; both count a little
    of S. So a query ranks by the probability of all that it asks for, and by S where all is
    certain. `usual` are the log odds at which a thing is there as likely as not, if it is asked for
    as often as it is absent.
    """

    threshold: float
    bias: float
    usual: float

    def count(self, scores: Array, *, negated: bool) -> Array:
        """What scores (N,) count before their weight, which is below 0 for a negated part.

        Of a negated part that is at least 0.
        """
        lacking = self._lack(scores, negated=negated)
        above: Array = (scores - self.threshold + CLEAREST).clip(min=0)
        clear = above * CLEARER
        if negated:
            shown = scores >= self.threshold
            lacking = cast("Array", library_of(scores).where(shown, lacking + DENIED, lacking))
            return lacking + clear
        return clear - lacking + self._usually_lacking

    @property
    def _usually_lacking(self) -> float:
        """−log p at the threshold, less what S counts there: so that the part counts 0 there."""
        least = np.logaddexp(np.float32(0), np.float32(-self.threshold - self.bias))
        return float(least) - CLEAREST * CLEARER

    def _lack(self, scores: Array, *, negated: bool) -> Array:
        """Compute −log(1 − p) of a negated part, −log p of another one."""
        odds = scores + self.bias
        bent = odds if negated else -odds
        library = library_of(scores)
        return cast("Array", library.logaddexp(library.zeros_like(bent), bent))

    def count_one(self, score: float, *, negated: bool) -> float:
        """What one score counts."""
        return float(self.count(np.array([score], np.float32), negated=negated)[0])

    def widen(self, scores: Array, errors: Array, *, negated: bool) -> Array:
        """How far off counts (N,) may be of scores that are off by up to errors (N,)."""
        lacking = self._lack(scores, negated=negated)
        steep = scores + errors if negated else scores - errors  # curves bend one way alone
        off: Array = self._lack(steep, negated=negated) - lacking + CLEARER * errors
        most = DENIED if negated else abs(self._usually_lacking)
        off = off + ROUNDING * (1 + most + lacking)
        if not negated:
            return off
        undecided = abs(scores - self.threshold) <= errors
        return cast("Array", library_of(scores).where(undecided, off + DENIED, off))

    def is_there(self, score: float) -> bool:
        """Whether a photo with this score is said to show the thing."""
        return score >= self.threshold

    def confidence(self, score: float) -> float:
        """The probability of the thing where it is as likely to be there as not."""
        return (1 + tanh((score + self.bias - self.usual) / 2)) / 2


def library_of(array: NDArray[Any] | Tensor) -> Any:
    """The library of an array's functions: numpy, or torch for a GPU's."""
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


class ThingsJudge(Protocol):
    """Asks photos for things; see models.scores.presence."""

    @property
    def things(self) -> Collection[str]:
        """The names of things that it knows, in the singular."""
        ...

    def ask(self, sentence: FragmentBag) -> tuple[FragmentBag, Condition]:
        """One fragment that asks whether a text's thing is there, and when it is."""
        ...


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A thing by its known name in the singular, and the text's words for it."""

    name: str
    span: Span


def find_things(text: str, words: Sequence[Word], known: Collection[str]) -> tuple[NamedThing, ...]:
    """The things that words of a text name; none if a content word names no known thing.

    Two names in a row are none: "dog bowl" is no dog and a bowl.
    """
    things: list[NamedThing] = []
    at, apart = 0, True
    while at < len(words):
        count, thing = find_thing(words[at:], known)
        if thing is not None and apart:
            things.append(thing)
        elif not is_function_word(words[at].text):
            return ()
        at += count
        apart = thing is None or ends_phrase(text, words, at)
    return tuple(things)


def find_thing(words: Sequence[Word], known: Collection[str]) -> tuple[int, NamedThing | None]:
    """The thing with the longest known name that words begin with; and the count of its words."""
    for count in range(min(LONGEST_NAME, len(words)), 0, -1):
        *before, last = (plain(word.text).lstrip("-") for word in words[:count])
        names = (" ".join([*before, form]) for form in singulars(last))
        if name := next((name for name in names if name in known), None):
            return count, NamedThing(name, Span(words[0].span.start, words[count - 1].span.end))
    return 1, None


def ends_phrase(text: str, words: Sequence[Word], at: int) -> bool:
    """Whether punctuation stands before the word at `at`."""
    return at < len(words) and bool(text[words[at - 1].span.end : words[at].span.start].strip())
