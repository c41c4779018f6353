"""Compilation of the kernels of scores, before a search would have to wait for it."""

from __future__ import annotations

import numpy as np

from index.blocks import Block
from index.coded_queries import Coded
from index.query_parts import Role, Term, exact
from index.rows import of_vectors
from models.scoring import Score


def compile_kernel(score: Score) -> None:
    """Compile a score's kernel for codes and for exact scores, or read it from numba's cache."""
    vectors, role = np.ones((1, 1), np.float32), Role.QUERY_IS_SENTENCE
    term = Term(vectors, 1.0)
    rows = of_vectors([vectors], [0], [0], "images", score, dimension=1)
    Coded(term, score, role, rows_have_base=True).estimates(Block.between(rows, 0, 1))
    exact(score, [vectors], term, role)
