"""Rows on a device score as on the processor."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from index.search import gpu
from index.search.gpu import Device, ScoredRows
from index.search.query import QueryPart, SentenceRole, exact
from index.search.rescorer import Coded
from index.search.row_blocks import RowBlock
from index.segments.rows import Numbers, Rows, Side, of_vectors
from models.scores.kernels import Floats
from models.scores.scoring import SCORES, Score, SumOfMax
from models.text.things import Condition

DIMENSION = 70  # padded to 128


def bags(count: int, seed: int, sizes: tuple[int, int] = (1, 40)) -> list[Floats]:
    random = np.random.default_rng(seed)
    sizes = random.integers(*sizes, count, endpoint=True)
    return [random.standard_normal((size, DIMENSION)).astype(np.float32) for size in sizes]


def rows_of(stored: list[Floats], side: Side, score: Score) -> Rows:
    positions = [-1 if side == "images" else 0] * len(stored)
    return of_vectors(stored, range(1, len(stored) + 1), positions, side, score, DIMENSION)


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize(
    ("side", "role", "weight"),
    [
        ("images", SentenceRole.QUERY_IS_SENTENCE, 1.0),
        ("images", SentenceRole.QUERY_IS_SENTENCE, -0.5),
        ("sentences", SentenceRole.ROWS_ARE_SENTENCES, 1.0),
        ("sentences", SentenceRole.QUERY_IS_SENTENCE, 1.0),
    ],
)
@pytest.mark.parametrize("T", [1, 25, 70])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_scores_and_bounds_are_those_of_the_processor(
    score: Score, side: Side, role: SentenceRole, weight: float, T: int, device: str
) -> None:
    stored = bags(50, seed=1)
    rows = rows_of(stored, side, score)
    term = QueryPart(bags(1, 2, (T, T))[0], weight, floored=weight < 0)
    part = Coded(term, score, role, rows_have_base=side == "images")
    found = Device(device, score).score([part], rows)
    same = part.estimates(RowBlock.of(rows, slice(0, 50)))
    true = exact(score, stored, term, role)
    np.testing.assert_allclose(found.errors[0].cpu(), same.errors, rtol=1e-5)
    assert (np.abs(found.scores[0].cpu().numpy() - true) <= same.errors + 1e-4).all()


@pytest.mark.parametrize("chosen", [None, np.arange(0, 50, 2)])
def test_promising_rows_are_all_that_can_be_among_the_best(chosen: Numbers | None) -> None:
    score = SCORES["sum_of_max"]
    rows = rows_of(bags(50, seed=1), "images", score)
    parts = [
        Coded(
            QueryPart(bags(1, seed)[0], weight, condition=condition),
            score,
            SentenceRole.QUERY_IS_SENTENCE,
            rows_have_base=True,
        )
        for seed, weight, condition in [(2, 1.0, None), (3, -0.5, Condition(2.0, 0.1, 0.0))]
    ]
    scored = Device("cpu", score).score(parts, rows)
    total, off = scored.total.numpy(), scored.error.numpy()
    some = np.arange(50) if chosen is None else chosen
    found = scored.find_promising(chosen, 5)
    assert found.floor == pytest.approx(np.sort((total - off)[some])[-5])
    assert found.numbers.tolist() == some[(total + off)[some] >= found.floor].tolist()
    assert found.scores.tolist() == scored.scores[:, found.numbers].tolist()
    assert scored.find_promising(chosen, 50).numbers.tolist() == some.tolist()
    below = float(np.sort(total + off)[25])
    behind = scored.find_promising(chosen, 5, below)
    listed = some[(total + off)[some] < below]
    assert behind.floor == pytest.approx(np.sort((total - off)[listed])[-5])


def test_rows_of_scores_that_are_no_numbers_are_not_lost() -> None:
    total, error = torch.tensor([1.0, torch.nan, 3.0]), torch.tensor([0.5, 0.5, 0.5])
    scored = ScoredRows(total[None], error[None], total, error)
    found = scored.find_promising(None, 1)
    assert (found.numbers.tolist(), found.floor) == ([1, 2], 2.5)


def test_rows_leave_the_device_with_their_segment() -> None:
    score = SCORES["sum_of_max"]
    device, rows = Device("cpu", score), rows_of(bags(5, seed=1), "images", SCORES["sum_of_max"])
    term = QueryPart(torch.ones(2, DIMENSION).numpy(), 1.0)
    part = Coded(term, score, SentenceRole.QUERY_IS_SENTENCE, rows_have_base=True)
    device.score([part], rows)
    assert device.held == 1
    del rows
    gc.collect()
    assert device.held == 0


@pytest.fixture
def fresh() -> Iterator[None]:
    gpu.choose_writer.cache_clear()
    yield
    gpu.choose_writer.cache_clear()


def test_torch_scores_where_triton_cannot(
    fresh: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_asked: object) -> None:
        raise RuntimeError("Failed to find C compiler.\nPlease specify via CC")

    monkeypatch.setattr(gpu, "try_kernel", fail)
    assert gpu.choose_writer("cuda", SCORES["sum_of_max"], 16, 64) is gpu.write_by_torch
    assert "Failed to find C compiler.). It needs" in caplog.text


def test_the_kernel_scores_on_nvidias_gpus_alone(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(SumOfMax):
        reduction = None

    monkeypatch.setattr(gpu, "try_kernel", lambda *_asked: None)
    assert gpu.choose_writer("cuda:1", SCORES["sum_of_max"], 16, 64) is gpu.write_by_kernel
    assert gpu.choose_writer("cuda:1", Other(), 16, 64) is gpu.write_by_torch
    assert gpu.choose_writer("mps", SCORES["sum_of_max"], 16, 64) is gpu.write_by_torch
