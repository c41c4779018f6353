"""Series: groups of near-duplicate photos, by digests, then vectors and time.

Photos with the same digest are copies. Two photos are alike with a cosine of COPIES or more of
their summaries, or of BURSTS within SECONDS of each other. Pairs join groups in the order of their
cosines if the means of both groups are as alike, so a long burst does not drift.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from index.segments.neighbours import AlikePairs, RowVectors, find_pairs
from index.segments.rows import Numbers
from models.scores.kernels import Floats

COPIES, BURSTS, SECONDS = 0.94, 0.90, 10.0
MOST = 16  # neighbours of a photo that are looked at
EXACT_TIME = 19  # characters of a time with its seconds


@dataclass(frozen=True, slots=True)
class Alike:
    """How alike photos of a group are: the least cosines, and how near in time."""

    copies: float = COPIES
    bursts: float = BURSTS
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True)
class Photos:
    """Photos to be grouped (N,): digests, times in seconds, their series, and which are new.

    times: NaN where unknown. places: of their vectors, -1 without one.
    """

    digests: Sequence[tuple[str, ...]]
    times: NDArray[np.float64]
    series: Sequence[str | None]
    new: Numbers
    places: Numbers
    vectors: RowVectors


@dataclass(frozen=True, slots=True)
class _Edge:
    """Two photos that are alike, and how alike their groups' means must be."""

    cosine: float
    first: int
    second: int
    least: float


def regroup(
    photos: Photos, make_name: Callable[[], str], alike: Alike | None
) -> dict[int, str | None]:
    """Group new photos with all others; returns the changed series by number.

    Without `alike` those of the same digests alone.
    A new photo leaves a group that it is no longer like. A group keeps its name if some of its
    photos stay together; a photo that is left alone has none.
    """
    groups = _Groups(photos)
    for edge in _list_edges(photos, alike):
        groups.join(edge)
    series = list(photos.series)
    for number, name in groups.name(make_name).items():
        series[number] = name
    sizes = Counter(series)
    return {
        number: name if sizes[name] > 1 else None
        for number, name in enumerate(series)
        if (name if sizes[name] > 1 else None) != photos.series[number]
    }


def parse_time(taken: str) -> float:
    """The seconds of a local time; NaN without seconds.

    >>> parse_time("2019-08-04T15:22:10+01:00") - parse_time("2019-08-04T15:22:01")
    9.0
    >>> parse_time("2019-08")
    nan
    """
    if len(taken) < EXACT_TIME:
        return np.nan
    try:
        return (datetime.fromisoformat(taken[:EXACT_TIME]) - datetime(1970, 1, 1)).total_seconds()
    except ValueError:
        return np.nan


@dataclass(slots=True)
class _Groups:
    """Groups of photos while pairs join them; new photos begin alone."""

    photos: Photos
    _root: dict[int, int] = field(default_factory=dict)
    _members: dict[int, list[int]] = field(default_factory=dict)
    _sums: dict[int, Floats] = field(default_factory=dict)
    _by_series: Mapping[str, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        by_series, new = defaultdict[str, list[int]](list), set(self.photos.new.tolist())
        for number, name in enumerate(self.photos.series):
            if name is not None and number not in new:
                by_series[name].append(number)
        self._by_series = by_series
        for number in new:
            self._add([number])

    def join(self, edge: _Edge) -> None:
        """Join the groups of two photos if they are alike on average."""
        first, second = self._find(edge.first), self._find(edge.second)
        if first == second or not self._are_alike(first, second, edge.least):
            return
        if len(self._members[first]) < len(self._members[second]):
            first, second = second, first
        for member in self._members[second]:
            self._root[member] = first
        self._members[first] += self._members.pop(second)
        self._sums[first] = self._sums[first] + self._sums.pop(second)

    def name(self, make_name: Callable[[], str]) -> dict[int, str | None]:
        """The series of all photos that were looked at.

        A name goes to the group with most of its photos.
        """
        claims = list[tuple[int, int, str, int]]()
        for root, members in self._members.items():
            by_name = defaultdict[str | None, list[int]](list)
            for number in members:
                by_name[self.photos.series[number]].append(number)
            claims += [
                (len(of_it), -min(of_it), name, root) for name, of_it in by_name.items() if name
            ]
        names, taken = dict[int, str](), set[str]()
        for _, _, name, root in sorted(claims, reverse=True):
            if root not in names and name not in taken:
                names[root] = name
                taken.add(name)
        named = dict[int, str | None]()
        for root, members in self._members.items():
            series = names.get(root) or make_name() if len(members) > 1 else None
            named |= dict.fromkeys(members, series)
        return named

    def _find(self, number: int) -> int:
        if number not in self._root:
            name = self.photos.series[number]
            self._add([number] if name is None else self._by_series[name])
        return self._root[number]

    def _add(self, members: list[int]) -> None:
        places = self.photos.places[members]
        vectors = self.photos.vectors.of(places[places >= 0])
        root = members[0]
        self._members[root], self._sums[root] = list(members), vectors.sum(axis=0)
        self._root |= dict.fromkeys(members, root)

    def _are_alike(self, first: int, second: int, least: float) -> bool:
        if least <= 0:
            return True
        sums = self._sums[first], self._sums[second]
        length = float(np.linalg.norm(sums[0]) * np.linalg.norm(sums[1]))
        return length > 0 and float(sums[0] @ sums[1]) / length >= least


def _list_edges(photos: Photos, alike: Alike | None) -> list[_Edge]:
    """List pairs of which one is new, the most alike first."""
    edges, different = _list_identical(photos)
    if alike is None:
        return edges
    number_at = np.empty(len(photos.vectors), np.int64)
    having = np.flatnonzero(photos.places >= 0)
    number_at[photos.places[having]] = having
    chosen = different[photos.places[different] >= 0]
    near = find_pairs(photos.vectors, photos.places[chosen], alike.copies, MOST)
    edges += _make_edges(near, number_at, alike.copies)
    together = _find_together(photos, chosen, alike.seconds)
    edges += _make_edges(_compare(photos, together, alike.bursts), None, alike.bursts)
    return sorted(edges, key=lambda edge: (-edge.cosine, edge.first, edge.second))


def _list_identical(photos: Photos) -> tuple[list[_Edge], Numbers]:
    """List pairs with the same digests; also the first new ones of each."""
    first, edges, different = dict[tuple[str, ...], int](), list[_Edge](), list[int]()
    new = set(photos.new.tolist())
    for number, digests in enumerate(photos.digests):
        earlier = first.setdefault(digests, number)
        if earlier != number and (number in new or earlier in new):
            edges.append(_Edge(2.0, earlier, number, 0.0))
        elif number in new:
            different.append(number)
    return edges, np.array(different, np.int64)


def _find_together(photos: Photos, chosen: Numbers, seconds: float) -> tuple[Numbers, Numbers]:
    """Pair chosen photos with the next ones in time."""
    timed = np.flatnonzero((photos.places >= 0) & ~np.isnan(photos.times))
    order = timed[np.argsort(photos.times[timed], kind="stable")]
    is_chosen = np.zeros(len(photos.times), np.bool_)
    is_chosen[chosen] = True
    pairs = [np.empty((2, 0), np.int64)]
    for step in range(1, MOST + 1):
        before, after = order[:-step], order[step:]
        near = photos.times[after] - photos.times[before] <= seconds
        near &= is_chosen[before] | is_chosen[after]
        pairs.append(np.stack([before[near], after[near]]))
    first, second = np.concatenate(pairs, axis=1)
    return first, second


def _compare(photos: Photos, pairs: tuple[Numbers, Numbers], least: float) -> AlikePairs:
    """Keep pairs with a cosine of `least` or more."""
    passing, size = list[tuple[Numbers, Numbers, Floats]](), 2**12
    for start in range(0, len(pairs[0]), size):
        first, second = (numbers[start : start + size] for numbers in pairs)
        vectors = (photos.vectors.of(photos.places[numbers]) for numbers in (first, second))
        cosines = np.einsum("nd,nd->n", *vectors)
        alike = cosines >= least
        passing.append((first[alike], second[alike], cosines[alike]))
    return AlikePairs.of(passing)


def _make_edges(pairs: AlikePairs, number_at: Numbers | None, least: float) -> list[_Edge]:
    first, second = pairs.first, pairs.second
    if number_at is not None:
        first, second = number_at[first], number_at[second]
    columns = zip(pairs.cosines.tolist(), first.tolist(), second.tolist(), strict=True)
    return [_Edge(*column, least) for column in columns]
