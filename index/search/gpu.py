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
ALIGNED = 64  # numbers are padded to a multiple, which the kernel reads together
NARROWEST = 16  # vectors of a query that tensor cores multiply at least
USUAL = (16, 32)  # padded vectors of texts and of photos
EXTRA = 2  # codes of what vectors have in common


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
            missing = pad(array.shape[1]) - array.shape[1] if array.ndim == 2 else 0
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


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """All rows of a side with their scores on the device.

    Scores and bounds of errors are of a query's parts (P, B), and of all together (B,).
    """

    scores: Tensor
    errors: Tensor
    total: Tensor
    error: Tensor

    def find_promising(
        self, numbers: Numbers | None, count: int, below: float | None = None
    ) -> Promising:
        """Find rows that `count` others do not certainly surpass.

        Of some sorted rows, or all. Only others with a score certainly `below` count.
        """
        places = torch.arange(len(self.total), device=self.total.device)
        if numbers is not None:
            places = torch.from_numpy(numbers).to(places)
        total, error = self.total[places], self.error[places]
        highest = (total + error).nan_to_num(nan=torch.inf)
        lowest = (total - error).nan_to_num(nan=-torch.inf)
        if below is not None:
            lowest = torch.where(highest < below, lowest, -torch.inf)
        floor = lowest.topk(count).values[-1] if count < len(lowest) else lowest.new_tensor(-np.inf)
        places = places[highest >= floor]
        promising, scores, errors = (
            array.cpu().numpy()
            for array in (places, self.scores[:, places], self.errors[:, places])
        )
        return Promising(promising, scores, errors, float(floor))


class Device:
    """Scores of all rows of a side. Safe for many threads."""

    def __init__(self, name: str, score: Score) -> None:
        self._name, self._score = name, score
        self._loaded: dict[int, tuple[weakref.ref[Any], DeviceRows]] = {}
        self._lock = Lock()

    @property
    def held(self) -> int:
        """The number of segments' sides on the device."""
        return len(self._loaded)

    def prepare(self, dimension: int) -> None:
        """Compile what scores photos for a text and sentences for a photo of usual length."""
        for width in USUAL:
            choose_writer(self._name, self._score, width, pad(dimension))

    def score(self, parts: Sequence[Coded], rows: Rows) -> ScoredRows:
        """Score all rows for a query's parts, with bounds of errors."""
        loaded, count = self._hold(rows), len(rows)
        # Each part's begin at whole words, or the kernel is compiled once more.
        scores, errors = torch.empty((2, len(parts), pad(count)), device=self._name)[..., :count]
        for number, part in enumerate(parts):
            chosen = self._name, self._score, width_of(part), loaded.codes.shape[1]
            choose_writer(*chosen)(part, rows, loaded, scores[number], errors[number])
        terms = [part.term for part in parts]
        total = query_parts.totals(scores, terms)
        return ScoredRows(scores, errors, total, query_parts.total_errors(scores, errors, terms))

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


@lru_cache(maxsize=64)
def choose_writer(device: str, score: Score, width: int, size: int) -> Writer:
    """Choose what scores rows for so many padded vectors of `size` numbers.

    Triton's kernel on NVIDIA's GPUs, torch elsewhere. torch, too, where Triton cannot compile: it
    needs a C compiler, and few GPUs have room for very long queries.
    """
    if torch.device(device).type != "cuda" or score.reduction is None:
        return write_by_torch
    try:
        try_kernel(device, score, width, size)
    except Exception as error:  # noqa: BLE001 - Triton, compilers and drivers have many
        log.warning(
            "searches on %s by up to %d words or regions take several times as long as they "
            "could: Triton cannot compile their kernel (%s). It needs a C compiler, such as that "
            "of `apt install gcc`",
            device,
            width,
            str(error).partition("\n")[0],
        )
        return write_by_torch
    return write_by_kernel


def try_kernel(device: str, score: Score, width: int, size: int) -> None:
    """Score a row of each side by the kernel, which compiles it; RuntimeError if it is wrong."""
    from index.search.rescorer import Coded

    random = np.random.default_rng(0)
    asked = random.standard_normal((width - EXTRA, size), np.float32)
    stored = random.standard_normal((2, size), np.float32)
    roles = SentenceRole.QUERY_IS_SENTENCE, SentenceRole.ROWS_ARE_SENTENCES
    for side, role in zip(SIDES, roles, strict=True):
        rows = of_vectors([stored], [0], [0], side, score, size)
        part = Coded(QueryPart(asked, 1.0), score, role, rows_have_base=side == "images")
        loaded = DeviceRows.of(rows, device)
        scores, errors = torch.full((2, 1), torch.nan, device=device)
        write_by_kernel(part, rows, loaded, scores, errors)
        true, _ = written = torch.empty((2, 1), device=device)
        write_by_torch(part, rows, loaded, *written)
        if not bool(((scores - true).abs() <= errors).all()):
            raise RuntimeError("it gives wrong scores")


def width_of(part: Coded) -> int:
    """The count of a part's vectors and of what they have in common, padded for tensor cores."""
    return max(NARROWEST, 1 << (len(part.all_codes) - 1).bit_length())


def pad(count: int) -> int:
    """A count of numbers up to whole words, and to what the kernel reads at a time."""
    return count + -count % ALIGNED


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
    T, width = len(part.scales), width_of(part)
    assert size % device_kernel.CHUNK == 0

    def widen(array: NDArray[Any], height: int, length: int) -> Tensor:
        padded = np.zeros((height, length), array.dtype)
        padded[: array.shape[0], : array.shape[1]] = array
        return torch.from_numpy(padded).to(device, non_blocking=True)

    bases = 0 if part.base_vectors is None else 1 if part.together else width
    base_vectors = np.empty((0, 0), np.float32) if part.base_vectors is None else part.base_vectors
    with torch.cuda.device(device):  # Triton launches on the thread's own
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
                "query_codes": widen(part.all_codes, width, size),
                "query_scales": widen(part.scales[None], 1, width),
                "base_vectors": widen(base_vectors, max(bases, 1), size),
                "factors": widen(part.errors_by_row, 3, width),
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
