"""Compilation of the kernels of scores, before a search would have to wait for it."""

from __future__ import annotations

import numpy as np

from index.search.blocks import Block
from index.search.estimates import Coded
from index.search.query import Role, Term, exact
from index.segments.rows import of_vectors
from models.scores.byte_dots import CHUNK
from models.scores.scoring import Score


def compile_kernel(score: Score) -> None:
    """Compile products of codes and a score's kernel, or read them from numba's cache."""
    vectors, role = np.ones((1, CHUNK), np.float32), Role.QUERY_IS_SENTENCE
    term = Term(vectors, 1.0)
    rows = of_vectors([vectors], [0], [0], "images", score, dimension=CHUNK)
    Coded(term, score, role, rows_have_base=True).estimates(Block.between(rows, 0, 1))
    exact(score, [vectors], term, role)
