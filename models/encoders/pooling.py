"""Hierarchical pooling of a photo's patches: means of like ones.

Clusters by Ward's linkage of cosine distances (Clavié et al. 2024, "Reducing the footprint of
multi-vector retrieval with minimal performance impact via token pooling").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

from models import extras


@dataclass(frozen=True, slots=True)
class PatchBag:
    """Unit vectors (P, D) of patches, and their boxes (P, 4)."""

    vectors: Tensor
    boxes: Tensor

    @classmethod
    def of(cls, vectors: Tensor, boxes: Tensor, chosen: Tensor) -> Self:
        """The chosen ones of some tokens; chosen is a mask (T,)."""
        return cls(vectors[chosen], boxes[chosen])


def pool(patches: PatchBag, factor: int) -> PatchBag:
    """One vector for about `factor` patches, with the box around them."""
    count = max(len(patches.vectors) // factor, 1)
    if factor == 1 or count >= len(patches.vectors):
        return patches
    clusters = cluster(patches.vectors, count)
    kept = range(int(clusters.max()) + 1)
    means = torch.stack([patches.vectors[clusters == at].mean(0) for at in kept])
    around = [patches.boxes[clusters == at] for at in kept]
    boxes = torch.stack([torch.cat([box[:, :2].amin(0), box[:, 2:].amax(0)]) for box in around])
    return PatchBag(F.normalize(means, dim=-1), boxes)


def cluster(vectors: Tensor, count: int) -> Tensor:
    """The cluster of each unit vector, (P,), from 0 to count - 1."""
    try:
        from scipy.cluster.hierarchy import fcluster, linkage
        from scipy.spatial.distance import squareform
    except ImportError as missing:
        raise LookupError(
            f"pooling of patches needs the package scipy: {extras.install('train')}"
        ) from missing
    distances = (1 - vectors @ vectors.T).clamp(0, 2).double()
    distances = (distances + distances.T) / 2
    distances.fill_diagonal_(0)
    tree = linkage(squareform(distances.numpy()), method="ward")
    labels = torch.from_numpy(fcluster(tree, count, criterion="maxclust").astype("int64"))
    clusters: Tensor = torch.unique(labels, return_inverse=True)[1]
    return clusters
