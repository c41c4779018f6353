"""How well each image picks its sentence out of a batch, and each sentence its image."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def contrastive(scores: Tensor, temperature: float = 1.0, smoothing: float = 0.0) -> Tensor:
    """C = −1/2K Σ_k [log softmax_l(S_kl / τ)_{l=k} + log softmax_l(S_lk / τ)_{l=k}].

    Symmetric InfoNCE (Radford et al. 2021, section 2.3). Shapes: scores (K, K), true pairs on the
    diagonal, give a scalar. `smoothing` spreads that share of each target evenly over the batch.
    """
    true = torch.arange(len(scores), device=scores.device)
    logits = scores / temperature
    by_image = F.cross_entropy(logits, true, label_smoothing=smoothing)
    by_sentence = F.cross_entropy(logits.T, true, label_smoothing=smoothing)
    return (by_image + by_sentence) / 2
