"""Cache of a frozen network's outputs, computed once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TypeVar, overload

import torch
from torch import Tensor

from models import whole_files
from training.data.digests import digest
from training.runs.progress import Progress, silent

SHARD = 256  # inputs a file: what an interruption can lose
BATCH = 32  # inputs in a batch of the frozen network
HALF_MOST = 65504.0  # the largest number that float16 holds

Item = TypeVar("Item")


class Tensors(Sequence[Tensor], ABC):
    """A sequence of tensors (F, C); `take` gives several at once."""

    @abstractmethod
    def take(self, positions: Sequence[int]) -> list[Tensor]:
        """Give the tensors at positions; IndexError for an absent one."""

    @overload
    def __getitem__(self, position: int) -> Tensor: ...
    @overload
    def __getitem__(self, position: slice) -> list[Tensor]: ...
    def __getitem__(self, position: int | slice) -> Tensor | list[Tensor]:
        if isinstance(position, slice):
            return self.take(range(*position.indices(len(self))))
        return self.take([position])[0]


class Inputs(Tensors):
    """Tensors in memory-mapped shards."""

    def __init__(self, shards: Sequence[Path]) -> None:
        self.shards = [torch.load(path, mmap=True, weights_only=True) for path in shards]
        self.sizes = [size for shard in self.shards for size in shard["sizes"].tolist()]
        self.firsts = [0, *accumulate(len(shard["sizes"]) for shard in self.shards)]
        self.starts = [
            start
            for shard in self.shards
            for start in (shard["sizes"].cumsum(0) - shard["sizes"]).tolist()
        ]

    def __len__(self) -> int:
        return len(self.sizes)

    def take(self, positions: Sequence[int]) -> list[Tensor]:
        """Read the tensors at positions, numbers as float32 and indices as 64 bits."""
        return [self.read(position) for position in positions]

    def read(self, position: int) -> Tensor:
        """Read the tensor at a position."""
        if not 0 <= position < len(self):
            raise IndexError(f"input {position} of {len(self)}")
        rows = self.shards[bisect_right(self.firsts, position) - 1]["rows"]
        start = self.starts[position]
        tensor: Tensor = rows[start : start + self.sizes[position]]
        return tensor.float() if tensor.is_floating_point() else tensor.long()


class Repeated(Tensors):
    """Inputs at positions, some of them more than once."""

    def __init__(self, inputs: Sequence[Tensor], positions: Sequence[int]) -> None:
        self.inputs, self.positions = inputs, positions

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, positions: Sequence[int]) -> list[Tensor]:
        """Give the inputs one by one."""
        return [self.inputs[self.positions[position]] for position in positions]


class Deferred(Tensors):
    """Inputs computed at the first request, kept in memory."""

    def __init__(self, count: int, compute: Callable[[], Sequence[Tensor]]) -> None:
        self.size = count
        self.compute = lru_cache(maxsize=1)(compute)

    def __len__(self) -> int:
        return self.size

    def take(self, positions: Sequence[int]) -> list[Tensor]:
        """Give the tensors at positions, after all are computed."""
        tensors = self.compute()
        return [tensors[position] for position in positions]


def take(inputs: Sequence[Tensor], positions: Sequence[int]) -> list[Tensor]:
    """Take some of the inputs, in batches if they are computed."""
    if isinstance(inputs, Tensors):
        return inputs.take(positions)
    return [inputs[position] for position in positions]


def load_or_compute(
    folder: Path,
    key: str,
    items: Sequence[Item],
    digests: Sequence[str],
    compute: Callable[[Sequence[Item]], list[Tensor]],
    progress: Progress = silent,
    what: str = "inputs",
) -> Inputs:
    """Load the tensors of all items, and compute the missing ones.

    A shard is named by the key and its items' digests, so a changed photo, sentence or network
    never finds a stale one, and an interrupted run continues at the first missing shard.
    """
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(items), SHARD)
    paths = [folder / f"{digest(key, *digests[at : at + SHARD])}.pt" for at in starts]
    missing = [at for at, path in zip(starts, paths, strict=True) if not path.is_file()]
    for at in progress(missing, len(missing), what):
        write(paths[at // SHARD], compute_shard(items[at : at + SHARD], compute))
    return Inputs(paths)


def compute_shard(
    items: Sequence[Item], compute: Callable[[Sequence[Item]], list[Tensor]]
) -> list[Tensor]:
    """Compute a shard's tensors by batches, in stored form."""
    with torch.inference_mode():
        return [
            compress(tensor)
            for at in range(0, len(items), BATCH)
            for tensor in compute(items[at : at + BATCH])
        ]


def compress(tensor: Tensor) -> Tensor:
    """Half precision for numbers, 32 bits for indices, in main memory."""
    if not tensor.is_floating_point():
        return tensor.to("cpu", torch.int32)
    assert tensor.isfinite().all(), "the frozen network gave NaN or infinity"
    return tensor.clamp(-HALF_MOST, HALF_MOST).to("cpu", torch.float16)


def write(path: Path, tensors: Sequence[Tensor]) -> None:
    """Write a shard whole or not at all."""
    sizes = torch.tensor([len(tensor) for tensor in tensors])
    whole_files.write_tensors(path, {"rows": torch.cat(list(tensors)), "sizes": sizes})
