"""Scores of all rows on a GPU, with codes in its memory."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from index.search import query as query_parts
from index.search.query import QueryPart, SentenceRole
from index.search.row_blocks import ROUNDING, RowBlock
from index.segments.rows import SIDES, Numbers, Rows, of_vectors
from models.scores.kernels import SMOOTHING, Floats
from models.scores.scoring import Score
from models.types import PaddedBags

if TYPE_CHECKING:
    from index.search.rescorer import Coded

log = logging.getLogger(__name__)

BLOCK = 2**13  # rows that torch scores at a time: 170 MB of 20 × 256 numbers
ALIGNED = 64  # numbers of a vector are padded to a multiple, so that rows begin at whole words


@dataclass(frozen=True, slots=True)
class DeviceRows:
    """A segment's side on the device; shapes as in Rows, D padded with zeros to P."""

    codes: Tensor
    offsets: Tensor
    scales: Tensor
    reach: Tensor
    bases: Tensor
    summaries: Tensor
    dimension: int

    @classmethod
    def of(cls, rows: Rows, device: str) -> DeviceRows:
        """Copy rows to a device."""

        def copy(array: NDArray[Any]) -> Tensor:
            missing = -array.shape[1] % ALIGNED if array.ndim == 2 else 0
            widened = np.pad(array, ((0, 0), (0, missing))) if missing else array.copy()
            return torch.from_numpy(widened).to(device)

        names = ("codes", "offsets", "scales", "reach", "bases", "summaries")
        arrays = {name: copy(getattr(rows, name)) for name in names}
        return cls(**arrays, dimension=rows.codes.shape[1])

    def __len__(self) -> int:
        return len(self.scales)

    def bags(self, start: int, end: int, *, based: bool) -> PaddedBags:
        """The fragments of rows in single precision, padded to the longest."""
        D, first, last = self.dimension, self.offsets[start:end], self.offsets[start + 1 : end + 1]
        places = torch.arange(int((last - first).max()), device=self.codes.device)
        mask = places < (last - first)[:, None]  # (B, F)
        numbers = (first[:, None] + places).clamp_max(len(self.codes) - 1)
        vectors = self.codes[numbers, :D] * self.scales[start:end, None, None]
        if based:
            vectors = vectors + self.summaries[start:end, None, :D].float()
        return PaddedBags(vectors, mask)


@dataclass(frozen=True, slots=True)
class Promising:
    """Rows (N,) that can be among the best, and what all others score less than.

    With the scores and bounds of errors (P, N) of a query's parts.
    """

    numbers: Numbers
    scores: Floats
    errors: Floats
    floor: float


class Device:
    """Scores of all rows of a side. Safe for many threads."""

    def __init__(self, name: str, score: Score) -> None:
        self._name, self._score = name, score
        self._loaded: dict[int, tuple[weakref.ref[Any], DeviceRows]] = {}
        self._lock = Lock()
        self._write = choose_writer(name, score)

    @property
    def held(self) -> int:
        """The number of segments' sides on the device."""
        return len(self._loaded)

    def estimates(self, parts: Sequence[Coded], rows: Rows) -> tuple[Floats, Floats]:
        """Score all rows for a query's parts, with bounds of errors: (P, B) and (P, B)."""
        scores, errors = self.compute(parts, rows)
        return scores.cpu().numpy(), errors.cpu().numpy()

    def find_promising(
        self,
        parts: Sequence[Coded],
        rows: Rows,
        numbers: Numbers | None,
        count: int,
        below: float | None = None,
    ) -> Promising:
        """Find rows that `count` others do not certainly surpass.

        Of some sorted rows, or all. Only others with a score certainly `below` count.
        """
        terms = [part.term for part in parts]
        scores, errors = self.compute(parts, rows)
        totals = query_parts.totals(scores, terms)
        off = query_parts.total_errors(scores, errors, terms)
        highest, lowest = totals + off, totals - off
        if below is not None:
            lowest = torch.where(highest < below, lowest, -torch.inf)
        places = torch.arange(len(rows), device=self._name)
        if numbers is not None:
            places = torch.from_numpy(numbers).to(self._name)
            highest, lowest = highest[places], lowest[places]
        floor = lowest.topk(count).values[-1] if count < len(lowest) else lowest.new_tensor(-np.inf)
        places = places[highest >= floor]
        kept, kept_scores, kept_errors = (
            found.cpu().numpy() for found in (places, scores[:, places], errors[:, places])
        )
        return Promising(kept, kept_scores, kept_errors, float(floor))

    def compute(self, parts: Sequence[Coded], rows: Rows) -> tuple[Tensor, Tensor]:
        """Compute the scores and the bounds of errors of all rows, on the device: (P, B) each."""
        loaded = self._hold(rows)
        scores, errors = torch.empty((2, len(parts), len(rows)), device=self._name)
        for number, part in enumerate(parts):
            self._write(part, rows, loaded, scores[number], errors[number])
        return scores, errors

    def _hold(self, rows: Rows) -> DeviceRows:
        """The rows on the device, as long as their segment is used."""
        key = id(rows.codes)
        with self._lock:
            entry = self._loaded.get(key)
            if entry is None or entry[0]() is None:
                gone = weakref.ref(rows.codes, lambda _: self._loaded.pop(key, None))
                entry = gone, DeviceRows.of(rows, self._name)
                self._loaded[key] = entry
            return entry[1]


Writer = Callable[["Coded", Rows, DeviceRows, Tensor, Tensor], None]


@lru_cache(maxsize=8)
def choose_writer(device: str, score: Score) -> Writer:
    """Choose what scores rows: Triton's kernel on NVIDIA's GPUs, torch elsewhere.

    torch, too, where Triton finds no C compiler, which its launchers need, and for a score without
    a reduction of its own.
    """
    if torch.device(device).type != "cuda" or score.reduction is None:
        return write_by_torch
    try:
        try_kernel(device, score)
    except Exception as error:  # noqa: BLE001 - Triton, compilers and drivers have many
        log.warning(
            "searches on %s take several times as long as they could: Triton cannot compile their "
            "kernel (%s). It needs a C compiler, such as that of `apt install gcc`",
            device,
            str(error).partition("\n")[0],
        )
        return write_by_torch
    return write_by_kernel


def try_kernel(device: str, score: Score) -> None:
    """Score a row of each side by the kernel, which compiles it."""
    from index.search.rescorer import Coded

    vectors = np.ones((1, ALIGNED), np.float32)
    roles = SentenceRole.QUERY_IS_SENTENCE, SentenceRole.ROWS_ARE_SENTENCES
    for side, role in zip(SIDES, roles, strict=True):
        rows = of_vectors([vectors], [0], [0], side, score, ALIGNED)
        part = Coded(QueryPart(vectors, 1.0), score, role, rows_have_base=side == "images")
        scores, errors = torch.empty((2, 1), device=device)
        write_by_kernel(part, rows, DeviceRows.of(rows, device), scores, errors)


def write_by_torch(
    part: Coded, rows: Rows, loaded: DeviceRows, scores: Tensor, errors: Tensor
) -> None:
    """Write scores and errors (B,) of rows for a query's part."""
    queries = PaddedBags.of([torch.from_numpy(part.term.vectors).to(scores.device)])
    based = part.base is not None
    with torch.inference_mode():
        for start in range(0, len(rows), BLOCK):
            end = min(start + BLOCK, len(rows))
            bags = loaded.bags(start, end, based=based)
            asked = part.role is SentenceRole.QUERY_IS_SENTENCE
            images, sentences = (bags, queries) if asked else (queries, bags)
            images = part.score.floor(images) if part.term.bounded else images
            scores[start:end] = part.score(images, sentences).flatten()
    off = part.errors(RowBlock.of(rows, slice(0, len(rows))))
    errors.copy_(torch.from_numpy(off))


def write_by_kernel(
    part: Coded, _rows: Rows, loaded: DeviceRows, scores: Tensor, errors: Tensor
) -> None:
    """Write scores and errors (B,) of rows for a query's part, by Triton."""
    from models.scores import device_kernel

    device, size = loaded.codes.device, loaded.codes.shape[1]
    T, listed = len(part.scales), len(part.listed)
    width = max(device_kernel.NARROWEST, 1 << (listed - 1).bit_length())

    def pad(array: NDArray[Any], height: int, length: int) -> Tensor:
        padded = np.zeros((height, length), array.dtype)
        padded[: array.shape[0], : array.shape[1]] = array
        return torch.from_numpy(padded).to(device, non_blocking=True)

    bases = 0 if part.base_vectors is None else 1 if part.together else width
    base_vectors = np.empty((0, 0), np.float32) if part.base_vectors is None else part.base_vectors
    device_kernel.launch(
        len(loaded),
        width,
        {
            "codes": loaded.codes,
            "offsets": loaded.offsets,
            "scales": loaded.scales,
            "reach": loaded.reach,
            "bases": loaded.bases,
            "summaries": loaded.summaries,
            "query_codes": pad(part.listed, width, size),
            "query_scales": pad(part.scales[None], 1, width),
            "base_vectors": pad(base_vectors, max(bases, 1), size),
            "factors": pad(part.errors_by_row, 3, width),
            "scores": scores,
            "errors": errors,
            "terms": T,
            "products": loaded.dimension + T,
            "coarse_step": part.common_steps[0],
            "fine_step": part.common_steps[1],
            "least": float(part.term.least),
            "rounding": float(ROUNDING),
            "smoothing": float(SMOOTHING),
            "SIZE": size,
            "BASES": bases,
            "ROWS_ARE_IMAGES": part.role is SentenceRole.QUERY_IS_SENTENCE,
            "COMMON": part.common is not None,
            "RECTIFIED": part.score.reduction == "positives",
        },
    )
