"""Searches find the kernels of their score compiled."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from index.search import query as query_parts
from index.search.query import QueryPart, SentenceRole
from index.search.rescorer import Coded, Rescorer, compile_kernel
from index.search.threads import Workers
from index.segments import rows
from models.scores import byte_dots
from models.scores.kernels import compile_loop
from models.scores.scoring import SCORES, Score

WAYS = [*product(rows.SIDES, SentenceRole, (1.0, -0.5), (None, np.array([1])))]


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_every_search_finds_its_kernel_compiled(
    score: Score, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = compile_loop(score.kernel.py_func)  # type: ignore[attr-defined]
    monkeypatch.setattr(type(score), "kernel", staticmethod(kernel))
    products: Any = compile_loop(byte_dots.multiply.py_func)  # type: ignore[attr-defined]
    monkeypatch.setattr(byte_dots, "multiply", products)
    compile_kernel(score)
    assert len(products.signatures) == byte_dots.has_instruction()
    versions = list(kernel.signatures)  # type: ignore[attr-defined]
    assert len(versions) == 2  # of the products of codes, and of exact ones
    bags = [np.full((size, 20), size, np.float32) for size in (3, 1)]
    for side, role, weight, numbers in WAYS:
        term = QueryPart(bags[0], weight, floored=weight < 0)
        part = Coded(term, score, role, rows_have_base=side == "images")
        stored = rows.of_vectors(bags, [1, 2], [0, 0], side, score, 20)
        Rescorer(score, Workers(1)).estimates([part], stored, numbers)
        query_parts.exact(score, bags, term, role)
    assert versions == kernel.signatures  # type: ignore[attr-defined]
    assert len(products.signatures) == byte_dots.has_instruction()
