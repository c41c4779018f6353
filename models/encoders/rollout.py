"""Rollout: parts of groups of tokens in pooled states.

The states of tokens are mixed: that of a patch shows other patches too. What a query reads of them
is split in two steps. The last block's additions are exact, as attention is a sum over tokens
(virtual attention heads, Elhage et al. 2021). Before it, and in MLPs, a state counts as that of the
tokens that went into it, by shares: attention rollout (Abnar & Zuidema 2020, section 3), where a
token goes in by the length of what it adds, the residual connection included (Kobayashi et al.
2021), instead of by its attention alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from models.encoders.blocks import TransformerBlock


@dataclass(frozen=True, slots=True)
class SelfAttention:
    """A block's attention α (B, heads, Q, T) and values (B, heads, T, d), of normed states."""

    block: TransformerBlock
    weights: Tensor
    values: Tensor

    @classmethod
    def of(cls, block: TransformerBlock, h: Tensor, bias: Tensor | None) -> Self:
        """The attention of states (B, T, H) to each other."""
        x = block.norm1(h)
        query, key, value = (block.split(part(x)) for part in (block.query, block.key, block.value))
        logits = query @ key.mT * query.shape[-1] ** -0.5
        return cls(block, (logits if bias is None else logits + bias).softmax(-1), value)

    def output(self) -> Tensor:
        """The addition of attention to the states, (B, Q, H)."""
        return self.block.scale1(self.block.join_heads(self.weights @ self.values))

    def brought(self) -> Tensor:
        """The additions of single tokens by each head, (B, T, heads, H)."""
        weight = self.block.out.weight
        by_head = weight.view(len(weight), self.block.heads, -1)  # (H, heads, d)
        return self.block.scale1(torch.einsum("bhtd,ohd->btho", self.values, by_head))


@dataclass(frozen=True, slots=True)
class TokenParts:
    """Parts of groups in the states after a block.

    The shares (B, G, T) of the groups in these states are their shares of the `rest` (B, T, H),
    which the MLP added. Of the states h (B, T, H) before the block, and of what its attention took
    from them, they have the shares that they had there.
    """

    shares: Tensor
    rest: Tensor
    before: tuple[Tensor, Tensor, SelfAttention] | None = (
        None  # shares, h and attention of the block
    )

    def through(self, attention: SelfAttention, h: Tensor) -> tuple[Tensor, TokenParts]:
        """The states after the next block, and the parts in them.

        `attention` is that block's, of the states h (B, T, H) before it.
        """
        block = attention.block
        middle = h + attention.output()
        rest = block.scale2(block.mlp(block.norm2(middle)))
        mixed = mixing(attention.weights, attention.brought(), h)
        parts = TokenParts(self.shares @ mixed.mT, rest, (self.shares, h, attention))
        return middle + rest, parts

    def pool(self, weights: Tensor) -> Tensor:
        """The groups' parts (B, G, X, H) in weighted sums of states; weights (B, X, T)."""
        total = pool(weights, self.shares, self.rest)
        if self.before is None:
            return total
        shares, h, attention = self.before
        paths = torch.einsum("bxq,bhqt->bhxt", weights, attention.weights)  # (B, heads, X, T)
        taken = torch.einsum("bhxt,bgt,bhtd->bgxhd", paths, shares, attention.values).flatten(3)
        added = attention.block.scale1(taken @ attention.block.out.weight.T)
        return total + pool(weights, shares, h) + added

    def read(self, reader: TransformerBlock, norm: nn.Module, h: Tensor, weights: Tensor) -> Tensor:
        """The groups' parts (B, G, H) in the reading of a query.

        It has weights of attention (B, heads, T), and the values and output map of the block
        `reader`. The deviations of `norm` are held; h (B, T, H) are the states before it.
        """
        assert isinstance(norm, nn.LayerNorm)
        spread = (h.var(-1, correction=0) + norm.eps).rsqrt()[:, None]  # (B, 1, T)
        pooled = self.pool(weights * spread)  # (B, G, heads, H)
        pooled = (pooled - pooled.mean(-1, keepdim=True)) * norm.weight
        weight = reader.value.weight
        by_head = weight.view(reader.heads, -1, weight.shape[1])  # (heads, d, H)
        values = torch.einsum("bgxh,xdh->bgxd", pooled, by_head).flatten(2)
        return reader.scale1(values @ reader.out.weight.T)


def pool(weights: Tensor, shares: Tensor, states: Tensor) -> Tensor:
    """Groups' parts (B, G, X, H) in sums of states (B, T, H) by weights (B, X, T) and shares."""
    return torch.einsum("bxt,bgt,bth->bgxh", weights, shares, states)


def mixing(attention: Tensor, values: Tensor, h: Tensor) -> Tensor:
    """Tokens' shares (B, Q, T) in the states after attention.

    Token t adds f_qt = Σ_h α_hqt v_th to state q, and its own state h_q where t = q. Its share is
    ‖f_qt‖ / Σ_t ‖f_qt‖, so that shares in a state add up to one.

    Shapes: attention α (B, heads, Q, T), values v (B, T, heads, H), states h (B, T, H).
    """
    alpha = attention.permute(0, 3, 2, 1)  # (B, T, Q, heads)
    squares = ((alpha @ (values @ values.mT)) * alpha).sum(-1)  # (B, T, Q): ‖Σ_h α_hqt v_th‖²
    to_itself = (alpha.diagonal(dim1=1, dim2=2).mT[:, :, None] @ values)[:, :, 0]  # (B, T, H)
    of_own = (h * (h + 2 * to_itself)).sum(-1)  # (B, T)
    lengths = (squares + of_own.diag_embed()).clamp_min(0).sqrt().mT  # (B, Q, T)
    return lengths / lengths.sum(-1, keepdim=True).clamp_min(torch.finfo(lengths.dtype).tiny)
