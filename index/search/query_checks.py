"""Checks of queries: their vectors are those of a collection, and probabilities are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from index.items import Collection
from index.search.query import Term
from index.segments.rows import Side
from models.scores.calibration import Calibration
from models.text.queries import Query
from models.types import FragmentBag


def checked(
    query: Query, side: Side, collection: Collection, calibration: Calibration | None
) -> Query:
    """A query as the matcher of a collection asks it.

    ValueError for one without fragments, of another dimension, or not finite.
    """
    parts = tuple(_checked_part(part, collection) for part in query.parts)
    if not parts:
        raise ValueError("the query has no fragments; give one with at least a word or region")
    query = replace(query, parts=parts)
    return calibration.asked(query, side == "images") if calibration else query


def calibrated(calibration: Calibration | None) -> Calibration:
    """The calibration of a matcher; ValueError where it has none."""
    if calibration is None:
        raise ValueError(
            "there are no probabilities to cut at: the matcher is not calibrated; "
            "run `tessera calibrate`, or leave min_probability out"
        )
    return calibration


def terms_of(query: Query) -> list[Term]:
    """The parts of a query with their weights in its score."""
    return [
        Term(part.vectors.numpy(), weight, floored)
        for part, weight, floored in zip(query.parts, query.weights, query.floored, strict=True)
    ]


def _checked_part(part: FragmentBag, collection: Collection) -> FragmentBag:
    vectors = np.ascontiguousarray(part.vectors.detach().cpu().numpy(), np.float32)
    if not len(vectors):
        raise ValueError("the query has no fragments; give one with at least a word or region")
    if vectors.shape[1] != collection.dimension:
        raise ValueError(
            f"the query's vectors have {vectors.shape[1]} numbers, collection "
            f"{collection.name!r} holds vectors of {collection.dimension}"
        )
    if not np.isfinite(vectors).all():
        raise ValueError("the query has a fragment vector that is not finite")
    return replace(part, vectors=torch.from_numpy(vectors))
