"""Presence: whether a photo shows a thing, a question apart from its rank."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from models.scores import alignment
from models.text.queries import Query
from models.text.things import Condition
from models.types import FragmentBag, Span


@dataclass(frozen=True, slots=True)
class Presence:
    """Log odds of a thing in a photo: max_i v_iᵀ q + b, with q = a u + A h and b = d + βᵀ h.

    v_i are the photo's fragments, u = Σ_t s_t the text's in the numbers that a calibration knows,
    and h = u / |u|. A thing is said to be there where they reach e + γᵀ h: so 5 % of the photos
    without a thing do, of frequent and of rare things alike. There its log odds are `margin` if it
    is as likely to be there as not.

    Shapes: `directions` A (D, D), `biases` β and `limits` γ (D,). `slope` is a, `level` is d and
    `limit` is e. `things` are names that were fitted, in the singular.
    """

    directions: Tensor
    biases: Tensor
    limits: Tensor
    slope: float
    level: float
    limit: float
    margin: float
    things: frozenset[str] = field(default_factory=frozenset)

    def ask(self, sentence: FragmentBag) -> tuple[FragmentBag, Condition]:
        """One fragment that asks whether a text's thing is there, and when it is."""
        total = sentence.vectors.float().sum(0)
        known = total[: len(self.biases)]  # without a catalogue's terms
        toward = F.normalize(known, dim=0)
        vector = torch.zeros_like(total)
        vector[: len(known)] = self.slope * known + self.directions @ toward
        bias = self.level + float(self.biases @ toward)
        limit = self.limit + float(self.limits @ toward)
        spans = [place for place in sentence.places if isinstance(place, Span)]
        span = Span(min(s.start for s in spans), max(s.end for s in spans))
        label = " ".join(sentence.labels)
        asked = replace(sentence, vectors=vector[None], places=(span,), labels=(label,), of_terms=0)
        return asked, Condition(limit - bias, bias, limit - self.margin)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a photo shows what a query asks for, and the confidence that it does.

    The confidence is the probability where it is as likely to be there as not; None if unknown.
    """

    there: bool
    confidence: float | None


def judge_photo(image: FragmentBag, query: Query, score: str) -> Verdict:
    """Judge a photo by the conditions of a query's parts; nothing is there for one without parts.

    Of several parts the least certain one counts.
    """
    there, confidence = bool(query.parts), 1.0 if query.parts else 0.0
    for part, weight, condition in zip(query.parts, query.weights, query.conditions, strict=True):
        assert condition is not None
        value = alignment.part_score(image, part, score, floored=False)
        shown, sure = condition.is_there(value), condition.confidence(value)
        there = there and shown == (weight > 0)
        confidence = min(confidence, sure if weight > 0 else 1 - sure)
    return Verdict(there, confidence)
