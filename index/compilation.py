"""Compilation of the kernels of scores, before a search would have to wait for it."""

from __future__ import annotations

import numpy as np

from index.blocks import Block
from index.coded_queries import Coded
from index.query_parts import Role, Term, exact
from index.rows import of_vectors
from models.byte_dots import CHUNK
from models.scoring import Score


def compile_kernel(score: Score) -> None:
    """Compile products of codes and a score's kernel, or read them from numba's cache."""
    vectors, role = np.ones((1, CHUNK), np.float32), Role.QUERY_IS_SENTENCE
    term = Term(vectors, 1.0)
    rows = of_vectors([vectors], [0], [0], "images", score, dimension=CHUNK)
    Coded(term, score, role, rows_have_base=True).estimates(Block.between(rows, 0, 1))
    exact(score, [vectors], term, role)
