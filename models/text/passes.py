"""Passes: texts of like length together, so that none is padded to many times its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def passes(lengths: Sequence[int], most: int, squared: int) -> Iterator[list[int]]:
    """The places of texts by passes of up to `most`, the shortest first.

    Attention takes time and memory by the square of the longest, for each text of a pass: that is
    `squared` at most, unless a text is alone.

    >>> [*passes([2, 3, 90, 2], most=64, squared=8_192)]
    [[0, 3, 1], [2]]
    """
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == most or (len(batch) + 1) * lengths[at] ** 2 > squared):
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch
