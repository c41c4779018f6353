"""Blocks of pretrained transformers: attention and an MLP, each after a norm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn


def identity(x: Tensor) -> Tensor:
    """Return x, for encoders without a scale here."""
    return x


@dataclass(frozen=True, slots=True)
class TransformerBlock:
    """h + scale1(attention(norm1(h))), then h + scale2(mlp(norm2(h))), of an encoder's own layers.

    Families name these layers differently and compute the same. States are (B, T, H), biases of
    attention broadcast to (B, heads, Q, T): 0 where a key is seen and -inf where it is not.
    """

    norm1: nn.Module
    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    out: nn.Linear
    heads: int
    norm2: nn.Module
    mlp: nn.Module
    scale1: Callable[[Tensor], Tensor] = identity
    scale2: Callable[[Tensor], Tensor] = identity

    def __call__(self, h: Tensor, bias: Tensor | None = None) -> Tensor:
        """The states after the block, (B, T, H)."""
        x = self.norm1(h)
        return self.finish(h, self.attend(self.split(self.query(x)), x, bias))

    def attend(self, queries: Tensor, x: Tensor, bias: Tensor | None) -> Tensor:
        """Attention of queries (B, heads, Q, d) to normed states (B, T, H): (B, Q, H)."""
        keys, values = self.split(self.key(x)), self.split(self.value(x))
        attended = F.scaled_dot_product_attention(queries, keys, values, attn_mask=bias)
        return self.join_heads(attended)

    def join_heads(self, attended: Tensor) -> Tensor:
        """The heads' outputs (B, heads, Q, d) through the output map: (B, Q, H)."""
        mapped: Tensor = self.out(attended.transpose(1, 2).flatten(2))
        return mapped

    def finish(self, h: Tensor, attended: Tensor) -> Tensor:
        """The states after attention gave `attended`: both are added on."""
        h = h + self.scale1(attended)
        return h + self.scale2(self.mlp(self.norm2(h)))

    def split(self, x: Tensor) -> Tensor:
        """Vectors (B, T, H) by heads: (B, heads, T, d)."""
        B, T, _ = x.shape
        return x.view(B, T, self.heads, -1).transpose(1, 2)


def block_of(layer: Any) -> TransformerBlock:
    """A layer of CLIP, SigLIP or TIPSv2's texts as a block."""
    attention = layer.self_attn
    return TransformerBlock(
        layer.layer_norm1,
        attention.q_proj,
        attention.k_proj,
        attention.v_proj,
        attention.out_proj,
        attention.num_heads,
        layer.layer_norm2,
        layer.mlp,
    )
