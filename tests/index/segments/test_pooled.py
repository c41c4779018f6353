"""Pooled rows: means of like fragments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from index.segments import pooled, rows
from index.segments.rows import in_memory
from models.scores.scoring import SCORES

MAX_SIM = SCORES["max_sim"]


def bags(count: int, size: int, seed: int = 0) -> list[np.ndarray]:
    vectors = np.random.default_rng(seed).standard_normal((count, size, 4)).astype(np.float32)
    return list(vectors / np.linalg.norm(vectors, axis=2, keepdims=True))


def alike(count: int, size: int) -> list[np.ndarray]:
    """Bags of two different vectors, repeated."""
    return [vectors.repeat(size // 2, 0) for vectors in bags(count, 2)]


def rows_of(vectors: list[np.ndarray], first: int = 1) -> rows.Rows:
    numbers = range(first, first + len(vectors))
    return rows.of_vectors(vectors, [*numbers], [-1] * len(vectors), "images", MAX_SIM, 4)


def test_like_vectors_share_a_mean_of_their_length() -> None:
    right, up = [[1, 0.1, 0, 0], [1, -0.1, 0, 0]] * 4, [[0.1, 2, 0, 0], [-0.1, 2, 0, 0]] * 4
    means = pooled.pool(np.array(right + up, np.float32))
    expected = [[np.hypot(1, 0.1), 0, 0, 0], [0, np.hypot(2, 0.1), 0, 0]]
    np.testing.assert_allclose(means, expected, atol=1e-6)


@pytest.mark.parametrize(("size", "count"), [(1, 1), (8, 1), (9, 2), (128, 16), (1_030, 129)])
def test_a_mean_stands_for_eight_vectors_at_most_on_average(size: int, count: int) -> None:
    vectors = bags(1, count)[0].repeat(8, 0)[-size:]
    means = pooled.pool(vectors)
    assert means.shape == (count, 4)
    assert np.isfinite(means).all()


def test_pooled_rows_are_of_the_same_items() -> None:
    held = rows_of(alike(pooled.LEAST, 16))
    made = pooled.build([held], MAX_SIM, in_memory)
    assert made is not None
    assert made.revisions.tolist() == held.revisions.tolist()
    assert made.positions.tolist() == held.positions.tolist()
    assert made.sizes.tolist() == [2] * len(held)
    decoded = pooled.decode(made, 5)
    np.testing.assert_allclose(decoded, pooled.pool(pooled.decode(held, 5)), atol=0.02)


def test_few_rows_rows_of_one_fragment_and_other_scores_have_none() -> None:
    assert pooled.build([rows_of(alike(pooled.LEAST - 1, 16))], MAX_SIM, in_memory) is None
    assert pooled.build([rows_of(bags(pooled.LEAST, 1))], MAX_SIM, in_memory) is None
    several = rows_of(alike(pooled.LEAST, 16))
    assert pooled.build([several], SCORES["sum_of_max"], in_memory) is None


def test_fragments_unlike_each_other_are_not_pooled() -> None:
    wide = np.random.default_rng(0).standard_normal((pooled.LEAST, 16, 32)).astype(np.float32)
    numbers = range(pooled.LEAST)
    held = rows.of_vectors(list(wide), [*numbers], [-1] * pooled.LEAST, "images", MAX_SIM, 32)
    assert pooled.build([held], MAX_SIM, in_memory) is None


def test_a_fragment_unlike_its_mean_is_one_of_its_own() -> None:
    vectors = np.tile(np.float32([1, 0, 0, 0]), (64, 1))
    vectors[40] = [0, 0, 3, 0]
    means = pooled.pool(vectors)
    assert (means @ np.float32([0, 0, 1, 0])).max() == 3


def test_pooled_rows_of_parts_are_taken_over() -> None:
    parts = []
    for seed in range(2):
        vectors = [bag.repeat(8, 0) for bag in bags(pooled.LEAST, 2, seed)]
        held = rows_of(vectors, 1 + 1_000 * seed)
        parts.append(replace(held, pooled=pooled.build([held], MAX_SIM, in_memory)))
    parts[1].live[3] = False
    expected = pooled.build([rows.join(parts, in_memory)], MAX_SIM, in_memory)
    some = [parts[0], replace(parts[1], pooled=None)]
    for joined in (pooled.build(parts, MAX_SIM, in_memory), pooled.build(some, MAX_SIM, in_memory)):
        assert joined is not None
        assert expected is not None
        assert len(joined) == 2 * pooled.LEAST - 1
        for name in ("codes", "offsets", "revisions", "positions"):
            np.testing.assert_array_equal(getattr(joined, name), getattr(expected, name))
