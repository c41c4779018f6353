"""Rows on a device score as on the processor."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import nullcontext
from functools import lru_cache
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from index.search import gpu
from index.search.gpu import Device, ScoredRows
from index.search.query import QueryPart, SentenceRole, exact
from index.search.rescorer import Coded
from index.search.row_blocks import RowBlock
from index.segments.rows import Numbers, Rows, Side, of_vectors
from models.scores.cuda.kernel import KernelShape
from models.scores.kernels import Floats
from models.scores.scoring import SCORES, Score, SumOfMax
from models.text.things import Condition
from tests.models.scores.cuda import emulator

DIMENSION = 70  # padded to 128
WIDE = 600  # more than are read at once
SHAPE = KernelShape.of(1, 64, images=True, positives=False)


def bags(
    count: int, seed: int, sizes: tuple[int, int] = (1, 40), dimension: int = DIMENSION
) -> list[Floats]:
    random = np.random.default_rng(seed)
    lengths = random.integers(*sizes, count, endpoint=True)
    return [random.standard_normal((length, dimension)).astype(np.float32) for length in lengths]


def rows_of(stored: list[Floats], side: Side, score: Score) -> Rows:
    positions = [-1 if side == "images" else 0] * len(stored)
    revisions = range(1, len(stored) + 1)
    return of_vectors(stored, revisions, positions, side, score, stored[0].shape[1])


class Place(NamedTuple):
    """A device, and whether kernels score there or torch."""

    device: str
    by_kernels: bool


@pytest.fixture(params=["cpu", "emulated", pytest.param("cuda", marks=pytest.mark.gpu)])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The place of scores: by torch, emulated kernels, or a GPU."""
    chosen: str = request.param
    if chosen != "emulated":
        return Place(chosen, by_kernels=chosen == "cuda")
    if emulator.COMPILER is None:
        pytest.skip("needs g++")
    stream = SimpleNamespace(cuda_stream=0)
    monkeypatch.setattr(gpu, "choose_writer", lambda *_asked: gpu.write_by_kernel)
    monkeypatch.setattr(gpu, "load_kernel", lambda shape, _device: emulate(shape))
    monkeypatch.setattr("torch.cuda.device", lambda _device: nullcontext())
    monkeypatch.setattr("torch.cuda.current_stream", lambda: stream)
    return Place("cpu", by_kernels=True)


emulate = lru_cache(emulator.Emulated)


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
def test_scores_and_bounds_are_those_of_the_processor(
    score: Score, side: Side, role: SentenceRole, weight: float, T: int, place: Place
) -> None:
    term = QueryPart(bags(1, 2, (T, T))[0], weight, floored=weight < 0)
    check_scores([term], bags(20, seed=1), side, role, score, place)


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize(
    ("side", "role"),
    [
        ("images", SentenceRole.QUERY_IS_SENTENCE),
        ("sentences", SentenceRole.ROWS_ARE_SENTENCES),
    ],
)
@pytest.mark.parametrize("sizes", [(2, 1), (12, 3, 16, 2), (1,) * 20], ids=str)
def test_parts_are_scored_together(
    score: Score, side: Side, role: SentenceRole, sizes: tuple[int, ...], place: Place
) -> None:
    """Parts end with a tile or go on in the next."""
    terms = [
        QueryPart(
            bags(1, number, (size, size))[0],
            -0.5 if number else 1.0,
            floored=number > 0,
            condition=Condition(2.0, 0.1, 0.0) if number == 2 else None,
        )
        for number, size in enumerate(sizes)
    ]
    check_scores(terms, bags(9, seed=1), side, role, score, place)


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize(
    ("side", "role"),
    [
        ("images", SentenceRole.QUERY_IS_SENTENCE),
        ("sentences", SentenceRole.ROWS_ARE_SENTENCES),
    ],
)
@pytest.mark.parametrize("T", [9, 25])
def test_wide_vectors_are_read_in_rounds(
    score: Score, side: Side, role: SentenceRole, T: int, place: Place
) -> None:
    term = QueryPart(bags(1, 2, (T, T), WIDE)[0], 1.0)
    check_scores([term], bags(3, 1, dimension=WIDE), side, role, score, place)


@pytest.mark.parametrize(
    ("side", "role", "shapes"),
    [
        ("images", SentenceRole.QUERY_IS_SENTENCE, [(2, True), (1, True)]),
        ("sentences", SentenceRole.ROWS_ARE_SENTENCES, [(3, True)] * 20),
    ],
)
def test_each_group_of_parts_has_the_kernel_that_was_tried(
    side: Side,
    role: SentenceRole,
    shapes: list[tuple[int, bool]],
    fresh: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 20 parts of 2 words, 16 are scored together; regions of a photo alone."""
    score, size = SCORES["sum_of_max"], 2 if side == "images" else 20
    asked: list[KernelShape] = []

    def choose(_device: str, _score: Score, shape: KernelShape) -> gpu.Writer:
        asked.append(shape)
        return gpu.write_by_torch

    monkeypatch.setattr(gpu, "choose_writer", choose)
    terms = [QueryPart(vectors, 1.0) for vectors in bags(20, 1, (size, size))]
    parts = [Coded(term, score, role, rows_have_base=side == "images") for term in terms]
    Device("cpu", score).score(parts, rows_of(bags(3, 2), side, score))
    assert [(shape.tiles, shape.held) for shape in asked] == shapes


def check_scores(
    terms: list[QueryPart],
    stored: list[Floats],
    side: Side,
    role: SentenceRole,
    score: Score,
    place: Place,
) -> None:
    """Compare scores and bounds with those of the processor."""
    rows = rows_of(stored, side, score)
    parts = [Coded(term, score, role, rows_have_base=side == "images") for term in terms]
    found = Device(place.device, score).score(parts, rows)
    for number, (term, part) in enumerate(zip(terms, parts, strict=True)):
        same = part.estimates(RowBlock.of(rows, slice(0, len(rows))))
        true = exact(score, stored, term, role)
        scores = found.scores[number].cpu().numpy()
        np.testing.assert_allclose(found.errors[number].cpu(), same.errors, rtol=1e-5)
        assert (np.abs(scores - true) <= same.errors + 1e-4).all()
        if place.by_kernels:  # torch does not take a query's codes
            np.testing.assert_allclose(scores, same.scores, rtol=1e-4, atol=1e-4)


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


def test_torch_scores_where_the_kernel_cannot_be_compiled(
    fresh: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_asked: object) -> None:
        raise RuntimeError("CUDA: NVRTC_ERROR_COMPILATION\nfloat3 is undefined")

    monkeypatch.setattr(gpu, "try_kernel", fail)
    chosen = gpu.choose_writer("cuda", SCORES["sum_of_max"], SHAPE)
    assert chosen is gpu.write_by_torch
    assert "photos on cuda" in caplog.text
    assert "cannot be used (CUDA: NVRTC_ERROR_COMPILATION)" in caplog.text


def test_a_missing_package_is_named(
    fresh: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_asked: object) -> None:
        raise ModuleNotFoundError("No module named 'cuda'")

    monkeypatch.setattr(gpu, "try_kernel", fail)
    gpu.choose_writer("cuda", SCORES["sum_of_max"], SHAPE)
    assert "(No module named 'cuda'; the package cuda-bindings is not installed)" in caplog.text


def test_the_kernel_scores_on_nvidias_gpus_alone(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(SumOfMax):
        reduction = None

    def choose(device: str, score: Score) -> gpu.Writer:
        return gpu.choose_writer(device, score, SHAPE)

    monkeypatch.setattr(gpu, "try_kernel", lambda *_asked: None)
    assert choose("cuda:1", SCORES["sum_of_max"]) is gpu.write_by_kernel
    assert choose("cuda:1", Other()) is gpu.write_by_torch
    assert choose("mps", SCORES["sum_of_max"]) is gpu.write_by_torch
