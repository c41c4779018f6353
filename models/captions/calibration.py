"""Calibration of captions: a probability from the matcher and the captioner."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from models.registry import Caption
from models.types import ParsedSentence, Word

LEAST_PROBABILITY = 1e-6  # whose log odds are finite


@dataclass(frozen=True, slots=True)
class CaptionCalibration:
    """p = σ(a log(q / (1 − q)) + b log p_c / (T + 1) + c r + d N + e), a logistic model.

    For a caption of T words with N things: q is the matcher's probability of the caption for the
    photo, p_c the captioner's probability of its words and their end, and r the photo's
    familiarity to the captioner. A caption is the best of many by q, so q alone is too high.

    `coefficients` are a, b, c, d, e. A caption with p below `unsure_below` is a guess. `matcher`
    is the fingerprint of the matcher of q. `things` are the nouns for things, in the singular;
    "front" and "top" are none. `facts` describe the measurement.
    """

    coefficients: tuple[float, ...]
    unsure_below: float
    matcher: str
    things: frozenset[str]
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", tuple(self.coefficients))
        object.__setattr__(self, "things", frozenset(self.things))

    def features(
        self, caption: Caption, tree: ParsedSentence, match: float
    ) -> tuple[float, ...] | None:
        """The numbers for the coefficients, or None without a familiarity."""
        if caption.familiarity is None:
            return None
        fluency = caption.log_probability / (len(caption.words) + 1)
        count = float(sum(1 for _ in self.find_things(tree)))
        return (log_odds(match), fluency, caption.familiarity, count, 1.0)

    def find_things(self, tree: ParsedSentence) -> Iterator[Word]:
        """The words for things in a caption; a compound's last one."""
        for word in tree.words:
            noun = word.tag.startswith("NN") and word.relation != "compound"
            if noun and word.lemma.lower() in self.things:
                yield word

    def probability(self, features: tuple[float, ...]) -> float:
        """The probability of a caption, by its `features`."""
        pairs = zip(self.coefficients, features, strict=True)
        return 1 / (1 + math.exp(-sum(weight * value for weight, value in pairs)))


def log_odds(probability: float) -> float:
    """log(q / (1 − q)), finite for all probabilities q."""
    likely = min(max(probability, LEAST_PROBABILITY), 1 - LEAST_PROBABILITY)
    return math.log(likely / (1 - likely))
