"""Searches find the kernels of their score compiled."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from index.search import query as query_parts
from index.search.query import QueryPart, SentenceRole
from index.search.rescorer import Coded, Rescorer, compile_kernels
from index.segments import rows
from models.machine_code import compile_loop, has
from models.scores import avx2, avx512, byte_dots, half_dots
from models.scores.scoring import SCORES, Score
from models.threads import Workers

WAYS = [*product(rows.SIDES, SentenceRole, (1.0, -0.5), (None, np.array([1])))]


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_every_search_finds_its_kernel_compiled(
    score: Score, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = compile_loop(score.kernel.py_func)  # type: ignore[attr-defined]
    monkeypatch.setattr(type(score), "kernel", staticmethod(kernel))
    native = native_products(monkeypatch)
    compile_kernels(score)
    compiled = [loop.signatures[:] for loop in native]
    assert [len(signatures) for signatures in compiled] == [
        has(*byte_dots.VNNI),
        has(*byte_dots.AVX2) and not has(*byte_dots.VNNI),
        has(*half_dots.FEATURES),
    ]
    versions = list(kernel.signatures)  # type: ignore[attr-defined]
    assert len(versions) == 2  # of the products of codes, and of exact ones
    bags = [np.full((size, 40), size, np.float32) for size in (3, 1)]
    for side, role, weight, numbers in WAYS:
        term = QueryPart(bags[0], weight, floored=weight < 0)
        part = Coded(term, score, role, rows_have_base=side == "images")
        stored = rows.of_vectors(bags, [1, 2], [0, 0], side, score, 40)
        Rescorer(score, Workers(1)).estimates([part], stored, numbers)
        query_parts.exact(score, bags, term, role)
    assert versions == kernel.signatures  # type: ignore[attr-defined]
    assert compiled == [loop.signatures for loop in native]


def native_products(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Compile products once more: of bytes by AVX-512 and AVX2, of halves."""
    loops = []
    for module, name in ((avx512, "multiply"), (avx2, "multiply"), (half_dots, "multiply_halves")):
        loop: Any = compile_loop(getattr(module, name).py_func)
        monkeypatch.setattr(module, name, loop)
        loops.append(loop)
    return loops
