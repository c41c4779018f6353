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
from models.scores.cuda.arguments import PARTS, KernelPart, OutPointers, Packed, RowPointers
from models.scores.cuda.kernel import READ, Kernel, KernelShape
from models.scores.kernels import Floats
from models.scores.scoring import Score
from models.types import PaddedBags

if TYPE_CHECKING:
    from index.search.rescorer import Coded

log = logging.getLogger(__name__)

BLOCK = 2**13  # rows that torch scores at a time: 170 MB of 20 × 256 numbers
USUAL = ((True, 16), (True, 32), (False, 22))  # vectors of texts, for images, and of photos
EXTRA = 2  # codes of what vectors have in common
ARRAYS = ("codes", "offsets", "scales", "reach", "bases", "summaries")  # of rows on the device


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

        arrays = {name: copy(getattr(rows, name)) for name in ARRAYS}
        return cls(**arrays, dimension=rows.codes.shape[1])

    def __len__(self) -> int:
        return len(self.scales)

    @property
    def pointers(self) -> RowPointers:
        """Where the kernel finds them."""
        places = {name: getattr(self, name).data_ptr() for name in ARRAYS}
        return RowPointers(**places, count=len(self))

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
        total, error, chosen = self.total, self.error, None
        if numbers is not None:
            chosen = torch.from_numpy(numbers).to(total.device)
            total, error = total[chosen], error[chosen]
        highest = (total + error).nan_to_num(nan=torch.inf)
        lowest = (total - error).nan_to_num(nan=-torch.inf)
        if below is not None:
            lowest = torch.where(highest < below, lowest, -torch.inf)
        floor = lowest.topk(count).values[-1] if count < len(lowest) else lowest.new_tensor(-np.inf)
        places = (highest >= floor).nonzero().flatten()
        if chosen is not None:
            places = chosen[places]
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
        positives = self._score.reduction == "positives"
        for images, vectors in USUAL:
            shape = KernelShape.of(vectors, pad(dimension), images=images, positives=positives)
            choose_writer(self._name, self._score, shape)

    def score(self, parts: Sequence[Coded], rows: Rows) -> ScoredRows:
        """Score all rows for a query's parts, with bounds of errors."""
        loaded, count = self._hold(rows), len(rows)
        scores, errors = torch.empty((2, len(parts), count), device=self._name)
        for chosen in group_parts(parts) if count else ():
            shape = shape_of(parts[chosen], loaded.codes.shape[1])
            write = choose_writer(self._name, self._score, shape)
            write(shape, parts[chosen], rows, loaded, scores[chosen], errors[chosen])
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


Writer = Callable[[KernelShape, Sequence["Coded"], Rows, DeviceRows, Tensor, Tensor], None]


@lru_cache(maxsize=64)
def choose_writer(device: str, score: Score, shape: KernelShape) -> Writer:
    """Choose what scores rows for queries of a shape.

    A kernel on NVIDIA's GPUs, torch elsewhere. torch, too, where the kernel cannot be used.
    """
    if torch.device(device).type != "cuda" or score.reduction is None:
        return write_by_torch
    try:
        try_kernel(device, score, shape)
    except Exception as error:  # noqa: BLE001 - compilers and drivers have many
        missing = (
            "; the package cuda-bindings is not installed" if isinstance(error, ImportError) else ""
        )
        log.warning(
            "torch scores %s on %s, which takes several times as long as their kernel, and that "
            "cannot be used (%s%s)",
            "photos" if shape.images else "sentences",
            device,
            str(error).partition("\n")[0],
            missing,
        )
        return write_by_torch
    return write_by_kernel


def try_kernel(device: str, score: Score, shape: KernelShape) -> None:
    """Score a row by the kernel, which compiles it; RuntimeError if it is wrong."""
    from index.search.rescorer import Coded

    random = np.random.default_rng(0)
    asked = random.standard_normal((shape.step - EXTRA, shape.size), np.float32)
    stored = random.standard_normal((2, shape.size), np.float32)
    side = SIDES[0] if shape.images else SIDES[1]
    role = SentenceRole.QUERY_IS_SENTENCE if shape.images else SentenceRole.ROWS_ARE_SENTENCES
    rows = of_vectors([stored], [0], [0], side, score, shape.size)
    parts = [Coded(QueryPart(asked, 1.0), score, role, rows_have_base=shape.images)]
    loaded = DeviceRows.of(rows, device)
    scores, errors = torch.full((2, 1, 1), torch.nan, device=device)
    write_by_kernel(shape, parts, rows, loaded, scores, errors)
    true, _ = written = torch.empty((2, 1, 1), device=device)
    write_by_torch(shape, parts, rows, loaded, *written)
    if not bool(((scores - true).abs() <= errors).all()):
        raise RuntimeError("it gives wrong scores")


def group_parts(parts: Sequence[Coded]) -> list[slice]:
    """The parts that a kernel scores together."""
    together = PARTS if parts[0].role is SentenceRole.QUERY_IS_SENTENCE else 1
    return [slice(start, start + together) for start in range(0, len(parts), together)]


def shape_of(parts: Sequence[Coded], size: int) -> KernelShape:
    """The shape of the kernel for parts of vectors of `size` numbers."""
    vectors = sum(len(part.all_codes) for part in parts)
    images = parts[0].role is SentenceRole.QUERY_IS_SENTENCE
    positives = parts[0].score.reduction == "positives"
    return KernelShape.of(vectors, size, images=images, positives=positives)


def pad(count: int) -> int:
    """A count of numbers up to what the kernel reads at a time."""
    return count + -count % READ


def write_by_torch(
    _shape: KernelShape,
    parts: Sequence[Coded],
    rows: Rows,
    loaded: DeviceRows,
    scores: Tensor,
    errors: Tensor,
) -> None:
    """Write scores and errors (P, B) of rows for a query's parts."""
    for part, score, error in zip(parts, scores, errors, strict=True):
        queries = PaddedBags.of([torch.from_numpy(part.term.vectors).to(scores.device)])
        based = part.base is not None
        with torch.inference_mode():
            for start in range(0, len(rows), BLOCK):
                end = min(start + BLOCK, len(rows))
                bags = loaded.bags(start, end, based=based)
                asked = part.role is SentenceRole.QUERY_IS_SENTENCE
                images, sentences = (bags, queries) if asked else (queries, bags)
                images = part.score.floor(images) if part.term.bounded else images
                score[start:end] = part.score(images, sentences).flatten()
        off = part.errors(RowBlock.of(rows, slice(0, len(rows))))
        error.copy_(torch.from_numpy(off))


def write_by_kernel(
    shape: KernelShape,
    parts: Sequence[Coded],
    _rows: Rows,
    loaded: DeviceRows,
    scores: Tensor,
    errors: Tensor,
) -> None:
    """Write scores and errors (P, B) of rows for a query's parts, by a kernel of a shape."""
    assert shape.images or all(part.base_vectors is None for part in parts)
    packed = Packed(
        [prepare_part(part, loaded.dimension) for part in parts], shape.size, shape.step
    )
    device = scores.device
    with torch.cuda.device(device):  # the kernel runs on the thread's
        # Kernels are loaded after the copy, which makes the device's context the thread's.
        copied = torch.from_numpy(packed.bytes).to(device, non_blocking=True)
        query, functions = packed.at(copied.data_ptr()), load_kernel(shape, device)
        places = scores.data_ptr(), errors.data_ptr(), scores.stride(0)
        out, stream = OutPointers.of(*places, float(ROUNDING)), torch.cuda.current_stream()
        if shape.images:
            functions.score_images(loaded.pointers, query, out, stream.cuda_stream)
            return
        words = len(loaded.codes)
        values = torch.empty(words, device=device)
        arguments = loaded.pointers, words, query, out, values.data_ptr()
        functions.score_sentences(*arguments, stream.cuda_stream)


def prepare_part(part: Coded, dimension: int) -> KernelPart:
    """What the kernel needs of a part."""
    none = np.empty((0, dimension), np.float32)
    bases = none if part.base_vectors is None else part.base_vectors
    return KernelPart(
        codes=part.all_codes,
        scales=part.scales,
        factors=part.errors_by_row,
        base_vectors=bases,
        together=part.together and len(bases) > 0,
        least=float(part.term.least),
        common_steps=part.common_steps,
        rounded=dimension + len(part.scales),
    )


@lru_cache(maxsize=64)
def load_kernel(shape: KernelShape, device: torch.device) -> Kernel:
    """The kernels of a shape on a device, whose context is current."""
    about = torch.cuda.get_device_properties(device)
    capability = about.major, about.minor
    return Kernel(shape, capability, about.multi_processor_count)
