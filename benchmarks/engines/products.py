"""Exact search by one matrix product, a maximum and a sum."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.engines.engine import SINGLE, everything, highest
from benchmarks.index.bags import BagSource, Floats
from models.text.queries import Query


class Numpy:
    """numpy: all fragments in memory, in single precision."""

    name, store = "numpy, exact", "none"

    def needs(self, source: BagSource) -> int:
        """All vectors, and their products with twenty others."""
        return SINGLE * source.fragments * (source.dimension + 20)

    def build(self, source: BagSource, folder: Path) -> None:
        """Nothing lasts."""

    def open(self, source: BagSource, folder: Path) -> None:  # noqa: ARG002 - the Protocol's
        """Read everything."""
        self.side = source.side
        self.vectors, self.offsets = everything(source)

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """Score all."""
        scores = np.zeros(len(self.offsets) - 1, np.float32)
        for part, weight, floored in zip(query.parts, query.weights, query.floored, strict=True):
            scores += weight * self.scores(part.vectors.numpy(), floored=floored)
        return highest(scores, limit)

    def scores(self, query: Floats, *, floored: bool) -> Floats:
        """Σ_t max_i of every bag, (B,)."""
        links = self.vectors @ query.T  # (N, T)
        if self.side == "sentences":
            return np.add.reduceat(links.max(1), self.offsets[:-1])
        best = links.reshape(len(self.offsets) - 1, -1, len(query)).max(1)  # (B, T)
        best = np.maximum(best, 0) if floored else best
        scores: Floats = best.sum(1)
        return scores

    def close(self) -> None:
        """Forget the vectors."""
        del self.vectors
        everything.cache_clear()


class Torch:
    """torch: the same on the processor; shares numpy's memory."""

    name, store = "torch, exact", "none"

    def needs(self, source: BagSource) -> int:
        """All vectors, and their products with twenty others."""
        return SINGLE * source.fragments * (source.dimension + 20)

    def build(self, source: BagSource, folder: Path) -> None:
        """Nothing lasts."""

    def open(self, source: BagSource, folder: Path) -> None:  # noqa: ARG002 - the Protocol's
        """Read everything."""
        vectors, offsets = everything(source)
        self.side = source.side
        self.vectors = torch.from_numpy(vectors)
        self.sizes = torch.from_numpy(np.diff(offsets))

    @torch.inference_mode()
    def search(self, query: Query, limit: int) -> Sequence[int]:
        """Score all."""
        scores = torch.zeros(len(self.sizes))
        for part, weight, floored in zip(query.parts, query.weights, query.floored, strict=True):
            scores += weight * self.scores(part.vectors, floored=floored)
        best: list[int] = scores.topk(min(limit, len(scores))).indices.tolist()
        return best

    def scores(self, query: torch.Tensor, *, floored: bool) -> torch.Tensor:
        """Σ_t max_i of every bag, (B,)."""
        links = self.vectors @ query.T  # (N, T)
        if self.side == "sentences":
            return torch.segment_reduce(links.amax(1), "sum", lengths=self.sizes)
        best = links.view(len(self.sizes), -1, len(query)).amax(1)  # (B, T)
        return (best.clamp_min(0) if floored else best).sum(1)

    def close(self) -> None:
        """Forget the vectors."""
        del self.vectors
        everything.cache_clear()
