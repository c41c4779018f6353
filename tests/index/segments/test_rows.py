"""Rows: codes within half a step, and refused arrays."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.codes import encode_runs
from index.segments import rows
from index.segments.rows import SIDES, in_memory
from models.scores.scoring import SCORES

SUM_OF_MAX = SCORES["sum_of_max"]


def bags_of(*sizes, magnitude=1.0):
    random = np.random.default_rng(sum(sizes))
    return [magnitude * random.normal(size=(size, 4)).astype(np.float32) for size in sizes]


def made(*sizes, revisions=None, side="images"):
    numbers = range(1, len(sizes) + 1) if revisions is None else revisions
    positions = [-1] * len(sizes)
    return rows.of_vectors(bags_of(*sizes), numbers, positions, side, SUM_OF_MAX, 4)


def arrays_of(held):
    return {name: getattr(held, name).copy() for name in rows.STORED}


def fragments(held, row):
    return held.codes[held.offsets[row] : held.offsets[row + 1]]


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("magnitude", [1e-12, 1e-4, 1.0, 1e6])
def test_every_number_is_within_half_a_step(score, side, magnitude):
    bags = bags_of(3, 1, 5, magnitude=magnitude)
    held = rows.of_vectors(bags, [1, 2, 2], [-1, 0, 1], side, SCORES[score], 4)
    for row, bag in enumerate(bags):
        base = held.summaries[row].astype(np.float32) if side == "images" else np.float32(0)
        coded = base + held.scales[row] * fragments(held, row)
        assert np.abs(bag - coded).max() <= held.scales[row] * 0.5001 + 1e-6 * np.abs(bag).max()
        lengths = np.abs(held.scales[row] * fragments(held, row).astype(np.float32)).sum(axis=1)
        assert held.reach[row] == pytest.approx(lengths.max())
        assert held.bases[row] == pytest.approx(np.abs(base).sum(), rel=1e-3)


def test_fragments_that_are_alike_keep_their_small_differences():
    photo = np.full((3, 4), 0.75, np.float32)
    photo[1:] += np.array([[0.001], [-0.002]], np.float32)
    held = rows.of_vectors([photo], [1], [-1], "images", SUM_OF_MAX, 4)
    assert held.scales[0] == pytest.approx(0.002 / 127, rel=1e-3)
    assert held.codes[:, 0].tolist() == [0, 64, -127]


def test_codes_are_those_of_a_literal_loop():
    random = np.random.default_rng(0)
    vectors = random.normal(size=(9, 5)).astype(np.float32)
    offsets, bases = np.array([0, 1, 4, 9]), random.normal(size=(3, 5)).astype(np.float32)
    for less in (bases, bases[:0]):
        made_at_once = encode_runs(vectors, offsets, less)
        for run, (first, end) in enumerate(pairwise(offsets.tolist())):
            rest = vectors[first:end] - (less[run] if len(less) else 0)
            scale = np.abs(rest).max() / np.float32(127)
            codes = np.rint(rest / scale).astype(int)
            assert made_at_once.codes[first:end].tolist() == codes.tolist()
            assert made_at_once.scales[run] == scale
            assert made_at_once.reach[run] == scale * np.float32(np.abs(codes).sum(1).max())


def test_summaries_of_huge_bags_stay_finite():
    for side in SIDES:
        held = rows.of_vectors(bags_of(2, magnitude=1e6), [1], [0], side, SUM_OF_MAX, 4)
        assert np.isfinite(held.summaries).all()


def test_no_bags_are_rows_too():
    none = made()
    assert (len(none), none.size, none.sizes.tolist()) == (0, 0, [])
    assert none.codes.shape == none.summaries.shape == (0, 4)
    assert none.without(np.array([1])) is none
    assert len(none.until(5)) == len(none.since(0)) == len(rows.join([none, none], in_memory)) == 0


def test_rows_are_cut_at_a_revision():
    held = made(2, 3, 1, 4, revisions=[3, 3, 5, 9])
    for revision, count in ((0, 0), (2, 0), (3, 2), (4, 2), (5, 3), (9, 4), (10, 4)):
        early, late = held.until(revision), held.since(revision)
        assert (len(early), len(late)) == (count, 4 - count)
        assert [*early.sizes, *late.sizes] == [2, 3, 1, 4]
        assert np.concatenate([early.codes, late.codes]).tolist() == held.codes.tolist()
        assert np.concatenate([early.summaries, late.summaries]).tolist() == held.summaries.tolist()


def test_cut_rows_remember_which_of_them_live():
    held = made(2, 3, 1, revisions=[1, 2, 3]).without(np.array([2]))
    assert held.until(2).live.tolist() == [True, False]
    assert held.since(1).live.tolist() == [False, True]


def test_retired_revisions_take_all_their_rows_along_and_no_others():
    held = made(1, 1, 1, 1, revisions=[2, 2, 4, 7])
    assert held.without(np.array([2, 5, 99])).live.tolist() == [False, False, True, True]
    assert held.without(np.array([7, 2])).live.tolist() == [False, False, True, False]
    assert held.without(np.array([1, 3])) is held
    assert held.live.all()  # a search that began earlier is not disturbed


@given(st.lists(st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=5), min_size=1))
def test_joined_rows_are_the_living_ones_in_order(parts):
    revision, given_rows, expected = 0, [], []
    for part in parts:
        numbers = range(revision + 1, revision + 1 + len(part))
        revision += len(part)
        held = made(*(size for size, _ in part), revisions=numbers)
        dead = [number for number, (_, lives) in zip(numbers, part, strict=True) if not lives]
        given_rows.append(held.without(np.array(dead, np.int64)))
        expected += [
            (number, fragments(held, row).tolist(), float(held.scales[row]))
            for row, number in enumerate(numbers)
            if number not in dead
        ]
    joined = rows.join(given_rows, in_memory)
    assert joined.live.all()
    assert expected == [
        (int(joined.revisions[row]), fragments(joined, row).tolist(), float(joined.scales[row]))
        for row in range(len(joined))
    ]


def test_long_parts_are_joined_block_by_block(monkeypatch):
    monkeypatch.setattr(rows, "BLOCK", 2)
    first, second = made(1, 2, 3, 4, 5), made(2, 1, 2, revisions=[7, 8, 9])
    joined = rows.join([first.without(np.array([2])), second], in_memory)
    assert joined.sizes.tolist() == [1, 3, 4, 5, 2, 1, 2]
    assert joined.codes[4:8].tolist() == fragments(first, 3).tolist()


def outside(arrays):
    arrays["offsets"][1] = 10**9


def one_too_few(arrays):
    arrays["scales"] = arrays["scales"][:-1]


def empty_bag(arrays):
    arrays["offsets"][1] = arrays["offsets"][2]


def late_start(arrays):
    arrays["offsets"][0] = 1


def out_of_order(arrays):
    arrays["revisions"] = arrays["revisions"][::-1].copy()


def other_width(arrays):
    arrays["summaries"] = arrays["summaries"][:, :3].copy()


def other_type(arrays):
    arrays["codes"] = arrays["codes"].astype(np.int16)


def flat(arrays):
    arrays["codes"] = arrays["codes"].ravel()


@pytest.mark.parametrize(
    "spoil",
    [outside, one_too_few, empty_bag, late_start, out_of_order, other_width, other_type, flat],
)
def test_arrays_that_do_not_fit_together_are_refused(spoil):
    arrays = arrays_of(made(2, 3, 1))
    rows.freeze(arrays_of(made(2, 3, 1)))
    spoil(arrays)
    with pytest.raises(ValueError, match=r"do not belong together|holds int16, not int8"):
        rows.freeze(arrays)


def test_rows_are_read_only():
    for array in arrays_of(held := made(2)):
        with pytest.raises(ValueError, match="read-only"):
            getattr(held, array)[...] = 0


def test_fragments_of_chosen_rows_are_listed_with_their_offsets() -> None:
    offsets = np.array([0, 3, 4, 9, 11])
    fragments, places = rows.fragments_of(offsets, np.array([3, 0, 0]))
    assert fragments.tolist() == [9, 10, 0, 1, 2, 0, 1, 2]
    assert places.tolist() == [0, 2, 5, 8]
    fragments, places = rows.fragments_of(offsets, np.empty(0, np.int64))
    assert (fragments.tolist(), places.tolist()) == ([], [0])
