"""Scores of all rows on a GPU, with codes in its memory."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from index.segments.rows import Numbers, Rows
from models.scores.kernels import Floats
from models.scores.scoring import Score
from models.types import PaddedBags

BLOCK = 2**13  # rows whose fragments are made at a time: 170 MB of 20 × 256


@dataclass(frozen=True, slots=True)
class DeviceRows:
    """A segment's side on the device; shapes as in Rows."""

    codes: Tensor
    scales: Tensor
    summaries: Tensor
    offsets: Tensor

    def bags(self, start: int, end: int, *, based: bool) -> PaddedBags:
        """The fragments of rows in single precision, padded to the longest."""
        first, last = self.offsets[start:end], self.offsets[start + 1 : end + 1]
        places = torch.arange(int((last - first).max()), device=self.codes.device)
        mask = places < (last - first)[:, None]  # (B, F)
        numbers = (first[:, None] + places).clamp_max(len(self.codes) - 1)
        vectors = self.codes[numbers] * self.scales[start:end, None, None]
        if based:
            vectors = vectors + self.summaries[start:end, None].float()
        return PaddedBags(vectors, mask)


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

    def scores(self, rows: Rows, query: Floats, *, rows_are_images: bool, floored: bool) -> Floats:
        """Score rows (B,) for one part of a query (T, D).

        Images are the rows with a base.
        """
        queries = PaddedBags.of([torch.from_numpy(query).to(self._name)])
        loaded, blocks = self._hold(rows), []
        based = bool(len(rows)) and int(rows.positions[0]) < 0
        with torch.inference_mode():
            for start in range(0, len(rows), BLOCK):
                bags = loaded.bags(start, min(start + BLOCK, len(rows)), based=based)
                images, sentences = (bags, queries) if rows_are_images else (queries, bags)
                images = self._score.floor(images) if floored else images
                blocks.append(self._score(images, sentences).flatten())
        scores: Floats = torch.cat(blocks).cpu().numpy()
        return scores

    def _hold(self, rows: Rows) -> DeviceRows:
        """The rows on the device, as long as their segment is used."""
        key = id(rows.codes)
        with self._lock:
            entry = self._loaded.get(key)
            if entry is None or entry[0]() is None:
                gone = weakref.ref(rows.codes, lambda _: self._loaded.pop(key, None))
                names = ("codes", "scales", "summaries")
                arrays = {name: self._copy(getattr(rows, name)) for name in names}
                entry = gone, DeviceRows(**arrays, offsets=self._copy(rows.offsets))
                self._loaded[key] = entry
            return entry[1]

    def _copy(self, array: Floats | Numbers) -> Tensor:
        return torch.from_numpy(array.copy()).to(self._name)
