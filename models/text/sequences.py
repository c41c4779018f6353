"""Sentence encoders without a tree: the mean of the words, or a recurrent network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.text.trees import Activation, near_identity


class MeanEncoder(nn.Module):
    """The mean of a sentence's words: words (L, T, H) and mask (L, T) give (L, H)."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Average the real words."""
        return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


class RecurrentEncoder(nn.Module):
    """h_t = f(W_h h_{t−1} + W_x x_t), the last of them   (Socher et al. 2014, section 6).

    Shapes: W_x x (L, T, H) and mask (L, T) give (L, H).
    """

    def __init__(self, hidden: int, activation: Activation) -> None:
        super().__init__()
        self.activation = activation
        self.again = nn.Parameter(near_identity(hidden))  # W_h

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Go through the words; past a sentence's last one its state stays."""
        state = torch.zeros_like(x[:, 0])  # (L, H)
        for words, real in zip(x.unbind(1), mask.unbind(1), strict=True):
            state = torch.where(real[:, None], self.activation(state @ self.again.T + words), state)
        return state
