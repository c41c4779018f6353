"""Contributions: each word's exact part of the vector of a text.

A text encoder that pools one position p, such as CLIP's end of text, adds to this position's
state in every layer. With the attention weights, the norms' deviations and the MLPs' gates held
constant, each addition is linear in the attended states. So the final vector is a sum over source
tokens, plus a rest of no token: the first state of p, and biases. (Gandelsman, Efros & Steinhardt
2024, section 3, for images' last positions; they leave the MLPs' additions as one term, here they
go on to the tokens of the MLP's input.)

Patches of a photo are tokens with a pooled class token, so boxes of patches are groups too.

There are two definitions of a token's part. `contributions` takes each layer's state at its place:
one pass. `through_all` follows its embedding along all paths of attention: a pass a group. In an
encoder such as SigLIP's, padding is read like words and carries their meaning; only the second
definition finds it there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from models.encoders.blocks import TransformerBlock

LEAST_INPUT = 1e-6  # of an activation; smaller ones give less than a float's precision


def contributions(
    blocks: Sequence[TransformerBlock],
    states: Tensor,
    bias: Tensor | None,
    pooled: Tensor,
    groups: Tensor,
    finish: Callable[[Tensor], Tensor],
    last: nn.LayerNorm,
    project: nn.Linear | None,
) -> Tensor:
    """Contributions (L, G, D) to the pooled vectors; the last group has the rest.

    Shapes: states (L, T, H) before the first block, bias (L, 1, T, T) of attention, pooled (L,) the
    position p of each text, groups (L, G, T) with each token's share in a group. `finish` maps
    states at p (L, H) to the vectors (L, D) by the norm `last` and the map `project`. The sum over
    groups is the pooled vector in spite of rounding, as the last group has the rest.
    """
    rows = torch.arange(len(states), device=states.device)
    h, at_p = states, states[rows, pooled]
    parts = states.new_zeros(*groups.shape[:2], states.shape[-1])  # (L, G, H)
    parts = with_rest(parts, at_p)
    for number, block in enumerate(blocks):
        added, attended = of_attention(block, h, parts, bias, pooled, groups)
        if number + 1 < len(blocks):
            h = block(h, bias)
        at_p = at_p + attended
        parts = with_rest(parts + added, at_p)
        added, at_p = of_mlp(block, parts, at_p)
        parts = with_rest(parts + added, at_p)
    parts = held(last, at_p, parts)
    if project is not None:
        parts = parts @ project.weight.T  # (L, G, D)
    return with_rest(parts, finish(at_p))


def of_attention(
    block: TransformerBlock,
    h: Tensor,
    parts: Tensor,
    bias: Tensor | None,
    pooled: Tensor,
    groups: Tensor,
) -> tuple[Tensor, Tensor]:
    """The output of attention at p, by groups (L, G, H) and altogether (L, H).

    A token other than p gives its whole value; p's own value goes to the groups of its parts.
    """
    rows = torch.arange(len(h), device=h.device)
    x = block.norm1(h)
    query = block.split(block.query(x[rows, pooled][:, None]))  # (L, heads, 1, d)
    logits = query @ block.split(block.key(x)).mT * query.shape[-1] ** -0.5
    if bias is not None:
        logits = logits + bias.expand(len(h), -1, -1, -1)[rows, :, pooled][:, :, None]
    attention = logits.softmax(-1)[:, :, 0]  # (L, heads, T)
    others = attention.clone()
    others[rows, :, pooled] = 0
    values = block.split(x @ block.value.weight.T)  # (L, heads, T, d)
    added = torch.einsum("lht,lgt,lhtd->lghd", others, groups, values)
    values_of_p = held(block.norm1, h[rows, pooled], parts) @ block.value.weight.T
    values_of_p = values_of_p.view(*values_of_p.shape[:2], block.heads, -1)  # (L, G, heads, d)
    added = added + attention[rows, :, pooled][:, None, :, None] * values_of_p
    total = torch.einsum("lht,lhtd->lhd", attention, block.split(block.value(x)))
    added = added.flatten(2) @ block.out.weight.T
    return block.scale1(added), block.scale1(block.out(total.flatten(1)))


def through_all(
    blocks: Sequence[TransformerBlock],
    states: Tensor,
    bias: Tensor,
    pooled: Tensor,
    groups: Tensor,
    finish: Callable[[Tensor], Tensor],
    last: nn.LayerNorm,
    project: nn.Linear | None,
) -> Tensor:
    """Contributions of the tokens' embeddings along all paths; shapes as in `contributions`.

    Every position's state is split among the groups, so that time and memory are times G.
    """
    rows = torch.arange(len(states), device=states.device)
    h, parts = states, groups[..., None] * states[:, None]  # (L, T, H), (L, G, T, H)
    for block in blocks:
        added, attended = of_all_attention(block, h, parts, bias)
        h = h + attended
        parts = with_rest(parts + added, h)
        added, h = of_mlp(block, parts, h)
        parts = with_rest(parts + added, h)
    at_p = h[rows, pooled]
    parts = held(last, at_p, parts[rows, :, pooled])  # (L, G, H)
    if project is not None:
        parts = parts @ project.weight.T  # (L, G, D)
    return with_rest(parts, finish(at_p))


def of_all_attention(
    block: TransformerBlock, h: Tensor, parts: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor]:
    """The output of attention at all positions, by groups (L, G, T, H) and altogether."""
    x = block.norm1(h)
    query, key = block.split(block.query(x)), block.split(block.key(x))  # (L, heads, T, d)
    attention = (query @ key.mT * query.shape[-1] ** -0.5 + bias).softmax(-1)  # (L, heads, T, T)
    values = held(block.norm1, h, parts) @ block.value.weight.T
    values = values.view(*values.shape[:3], block.heads, -1)  # (L, G, T, heads, d)
    added = torch.einsum("lhqt,lgthd->lgqhd", attention, values).flatten(3) @ block.out.weight.T
    return added, block.join_heads(attention @ block.split(block.value(x)))


def of_mlp(block: TransformerBlock, parts: Tensor, at_p: Tensor) -> tuple[Tensor, Tensor]:
    """The MLP's output by groups (L, G, …, H), and the state after it."""
    mlp: Any = block.mlp
    hidden = mlp.fc1(block.norm2(at_p))  # (L, M)
    active = mlp.activation_fn(hidden)
    gates = torch.where(hidden.abs() < LEAST_INPUT, torch.zeros_like(hidden), active / hidden)
    added = (held(block.norm2, at_p, parts) @ mlp.fc1.weight.T) * gates[:, None]
    return block.scale2(added @ mlp.fc2.weight.T), at_p + block.scale2(mlp.fc2(active))


def held(norm: nn.Module, state: Tensor, parts: Tensor) -> Tensor:
    """Parts (L, G, …, H) of a state through its layer norm, with its deviation held."""
    assert isinstance(norm, nn.LayerNorm)
    spread = (state.var(-1, correction=0) + norm.eps).rsqrt()[:, None, ..., None]
    return (parts - parts.mean(-1, keepdim=True)) * spread * norm.weight


def with_rest(parts: Tensor, total: Tensor) -> Tensor:
    """Parts (L, G, …) with the rest of the total (L, …) in the last."""
    rest = total - parts[:, :-1].sum(1)
    return torch.cat([parts[:, :-1], rest[:, None]], 1)
