"""Near-duplicates are grouped by digests, vectors and time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count

import numpy as np
import pytest

from index.photos.series import Alike, Photos, parse_time, regroup
from index.segments import neighbours
from index.segments.neighbours import RowVectors, find_pairs
from index.segments.rows import of_vectors
from models.scores.scoring import score_named

Change = dict[int, str | None]


def turned(*angles: float) -> RowVectors:
    """Vectors in a plane at some angles in degrees, in two segments."""
    vectors = [np.array([[np.cos(a), np.sin(a), 0, 0]], np.float32) * 3 for a in np.radians(angles)]
    half, sum_of_max = len(vectors) // 2, score_named("sum_of_max")
    parts = []
    for start, end in ((0, half), (half, len(vectors))):
        revisions, zeros = list(range(start + 1, end + 1)), [-1] * (end - start)
        rows = of_vectors(vectors[start:end], revisions, zeros, "images", sum_of_max, 4)
        parts.append((rows, np.arange(len(rows))))
    return RowVectors(parts)


def photos(
    *angles: float,
    times: Sequence[float] | None = None,
    series: Sequence[str | None] | None = None,
    new: Sequence[int] | None = None,
    digests: Sequence[str] | None = None,
) -> Photos:
    size = len(angles)
    names = digests or [f"{number}" for number in range(size)]
    return Photos(
        digests=[(name,) for name in names],
        times=np.array(times if times else [np.nan] * size),
        series=series or [None] * size,
        new=np.array(range(size) if new is None else new),
        places=np.arange(size),
        vectors=turned(*angles),
    )


def group(given: Photos) -> Change:
    names = count()
    return regroup(given, lambda: f"s{next(names)}", Alike(copies=0.94, bursts=0.90, seconds=10))


def test_copies_are_a_series_at_any_time_and_bursts_within_seconds() -> None:
    # cos 10° = 0.985, cos 24° = 0.914
    times = [0, 10**6, 5, 5.5]
    assert group(photos(0, 10, 90, 114, times=times)) == {0: "s0", 1: "s0", 2: "s1", 3: "s1"}
    assert group(photos(90, 114, times=[0, 11])) == {}
    assert group(photos(90, 114)) == {}


def test_the_same_file_twice_is_a_series_without_any_vector() -> None:
    given = photos(0, 90, 45, digests=["a", "b", "a"])
    assert group(given) == {0: "s0", 2: "s0"}


def test_without_looks_the_same_files_alone_are_a_series() -> None:
    given = photos(0, 1, 90, digests=["a", "b", "a"], times=[0, 1, 2])
    assert regroup(given, lambda: "s", None) == {0: "s", 2: "s"}


def test_a_long_burst_does_not_drift_from_what_it_shows() -> None:
    changed = group(photos(*range(0, 181, 18), times=[*range(11)]))
    series = defaultdict[str | None, list[int]](list)
    for number, name in changed.items():
        series[name].append(number)
    assert len(series) > 1
    assert all(numbers[-1] - numbers[0] <= 3 for numbers in series.values())


def test_a_new_photo_joins_a_series_and_nothing_else_is_compared() -> None:
    given = photos(0, 5, 90, 91, 3, series=["x", "x", None, None, None], new=[4])
    assert group(given) == {4: "x"}


def test_a_photo_that_is_no_longer_alike_leaves_and_who_is_left_alone_too() -> None:
    assert group(photos(0, 90, series=["x", "x"], new=[1])) == {0: None, 1: None}
    assert group(photos(0, 1, 90, series=["x", "x", "x"], new=[2])) == {2: None}


def test_a_series_keeps_its_name_when_all_is_compared_again() -> None:
    given = photos(0, 1, 90, 91, series=["x", "x", "y", None])
    assert group(given) == {3: "y"}


def test_a_photo_between_two_series_makes_them_one() -> None:
    given = photos(0, 4, 16, 20, 10, series=["x", "x", "y", "y", None], new=[4])
    assert group(given) == {2: "x", 3: "x", 4: "x"}


@pytest.mark.parametrize("exact", [True, False])
def test_pairs_are_those_of_a_loop_also_from_cells(
    exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exact:
        monkeypatch.setattr(neighbours, "EXACT", 0)
    angles = np.random.default_rng(1).integers(0, 360, 60).tolist()  # none at 4.5 degrees
    least = np.cos(np.radians(4.5))
    found = find_pairs(turned(*angles), np.arange(60), least, 20)
    pairs = set(zip(found.first.tolist(), found.second.tolist(), strict=True))
    vectors = turned(*angles).of(np.arange(60))
    assert pairs == {
        (a, b) for a in range(60) for b in range(60) if a != b and vectors[a] @ vectors[b] >= least
    }


def test_only_times_with_seconds_are_exact() -> None:
    assert np.isnan(parse_time("2019-08-04T15:22"))
    assert np.isnan(parse_time("2019-99-99T15:22:10"))
    assert parse_time("2019-08-04T15:22:10Z") == parse_time("2019-08-04T15:22:10+02:00")
