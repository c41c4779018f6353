"""Rollout: parts of groups of tokens in what a pooling attention reads.

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

LEAST_LENGTH = 1e-12  # of a sum of lengths that is divided by


@dataclass(frozen=True, slots=True)
class Attention:
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
        """What attention adds to the states, (B, Q, H)."""
        return self.block.scale1(self.block.join_heads(self.weights @ self.values))

    def brought(self) -> Tensor:
        """What each head brings of a token if it attends to it alone, (B, T, heads, H)."""
        by_head = self.block.out.weight.unflatten(1, (self.block.heads, -1))  # (H, heads, d)
        return self.block.scale1(torch.einsum("bhtd,ohd->btho", self.values, by_head))


@dataclass(frozen=True, slots=True)
class TokenParts:
    """Parts of groups G in states after a block, with their shares (B, G, T) in these.

    A group has its shares before the block of the states h (B, T, H) there and of what attention
    took from them, and its shares now of the `rest`, which the MLP added.
    """

    shares: Tensor
    rest: Tensor
    before: tuple[Tensor, Tensor, Attention] | None = None  # shares, h and attention of the block

    def through(
        self, attention: Attention, h: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, TokenParts]:
        """The states after the next block, and the parts in them; h (B, T, H) are those before."""
        block = attention.block
        middle = h + attention.output()
        rest = block.scale2(block.mlp(block.norm2(middle)))
        seen = h.new_ones(h.shape[:2]) if bias is None else bias[:, 0, 0].exp()  # (B, T)
        mixed = mixing(attention.weights, attention.brought(), h, seen)
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
        """The groups' parts (B, G, H) in what a query reads by a block's values and output map.

        Shapes: states h (B, T, H) before `norm`, whose deviations are held, and weights of
        attention (B, heads, T).
        """
        assert isinstance(norm, nn.LayerNorm)
        spread = (h.var(-1, correction=0) + norm.eps).rsqrt()[:, None]  # (B, 1, T)
        pooled = self.pool(weights * spread)  # (B, G, heads, H)
        pooled = (pooled - pooled.mean(-1, keepdim=True)) * norm.weight
        by_head = reader.value.weight.unflatten(0, (reader.heads, -1))  # (heads, d, H)
        values = torch.einsum("bgxh,xdh->bgxd", pooled, by_head).flatten(2)
        return reader.scale1(values @ reader.out.weight.T)


def pool(weights: Tensor, shares: Tensor, states: Tensor) -> Tensor:
    """Groups' parts (B, G, X, H) in sums of states (B, T, H) by weights (B, X, T) and shares."""
    return torch.einsum("bxt,bgt,bth->bgxh", weights, shares, states)


def mixing(attention: Tensor, values: Tensor, h: Tensor, seen: Tensor) -> Tensor:
    """Tokens' shares (B, Q, T) in the states after attention; each state's add up to one.

    Token t adds f_qt = Σ_h α_hqt v_th to state q, and its own state h_q where t = q. Its share is
    ‖f_qt‖ / Σ_t ‖f_qt‖. Values and states are differences from their means over the tokens, as what
    all tokens have in common tells nothing of one of them.

    Shapes: attention α (B, heads, Q, T), values v (B, T, heads, H), states h (B, T, H), and seen
    (B, T), 1 for tokens and 0 for padding.
    """
    v, own = centre(values, seen[..., None, None]), centre(h, seen[..., None])
    alpha = attention.permute(0, 3, 2, 1)  # (B, T, Q, heads)
    squares = ((alpha @ (v @ v.mT)) * alpha).sum(-1)  # (B, T, Q): ‖Σ_h α_hqt v_th‖²
    to_itself = (alpha.diagonal(dim1=1, dim2=2).mT[:, :, None] @ v)[:, :, 0]  # (B, T, H)
    of_own = (own * (own + 2 * to_itself)).sum(-1)  # (B, T)
    lengths = (squares + of_own.diag_embed()).clamp_min(0).sqrt().mT  # (B, Q, T)
    return lengths / lengths.sum(-1, keepdim=True).clamp_min(LEAST_LENGTH)


def centre(x: Tensor, seen: Tensor) -> Tensor:
    """Differences of x (B, T, …) from its mean over the tokens; seen broadcasts to it."""
    return x - (x * seen).sum(1, keepdim=True) / seen.sum(1, keepdim=True)
