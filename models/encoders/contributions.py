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

States and their parts go through a map together: a short text's time is that of reading weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from models.encoders.blocks import TransformerBlock, identity

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
    named = groups[:, :-1]
    parts = states.new_zeros(*named.shape[:2], 1, states.shape[-1])  # (L, G - 1, 1, H)

    def take(attention: Tensor, values: Tensor, own: Tensor, place: Tensor) -> Tensor:
        at_p = pick(attention.transpose(1, 2), place)[:, 0]  # (L, heads, T)
        of_p = at_p.gather(-1, pooled[:, None, None].expand(-1, at_p.shape[1], 1))
        others = at_p.scatter(-1, pooled[:, None, None].expand_as(of_p), 0)
        taken = torch.einsum("lht,lgt,lhtd->lghd", others, named, values)[:, :, None]
        return taken + of_p[:, None, None] * own

    at_p, parts = follow(blocks, states, parts, bias, pooled, take)
    return add_rest(parts, at_p, finish, last, project)


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
    parts = groups[:, :-1, :, None] * states[:, None]  # (L, G - 1, T, H)

    def take(attention: Tensor, _values: Tensor, own: Tensor, _place: Tensor) -> Tensor:
        return torch.einsum("lhqt,lgthd->lgqhd", attention, own)

    at_p, parts = follow(blocks, states, parts, bias, pooled, take)
    return add_rest(parts, at_p, finish, last, project)


# From attention (L, heads, Q, T), values (L, heads, T, d) and the parts' own (L, G, X, heads, d),
# and each text's place of p among Q positions, what attention brings the parts.
Take = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def follow(
    blocks: Sequence[TransformerBlock],
    h: Tensor,
    parts: Tensor,
    bias: Tensor | None,
    pooled: Tensor,
    take: Take,
) -> tuple[Tensor, Tensor]:
    """The states at p (L, H) after all blocks, and their parts (L, G, H).

    Parts (L, G, X, H) are those of the states at p, or of all, X = T. Of the last block's states
    only those at p are computed.
    """
    for block in blocks[:-1]:
        h, parts = through_block(block, h, parts, bias, pooled, take)
    h, parts = through_block(blocks[-1], h, parts, bias, pooled, take, only_p=True)
    return h[:, 0], parts[:, :, 0]


def through_block(
    block: TransformerBlock,
    h: Tensor,
    parts: Tensor,
    bias: Tensor | None,
    pooled: Tensor,
    take: Take,
    *,
    only_p: bool = False,
) -> tuple[Tensor, Tensor]:
    """States (L, T, H) after a block and their parts, or those at p alone."""
    at_p = partial(pick, places=pooled)
    read, place = (at_p, torch.zeros_like(pooled)) if only_p else (identity, pooled)
    everywhere = parts.shape[2] == h.shape[1]
    x = block.norm1(h)
    with_parts = identity if everywhere else at_p
    values, own = map_both(block.value, x, held(block.norm1, with_parts(h), parts))
    by_head = block.split(values)  # (L, heads, T, d)
    query = block.split(block.query(read(x)))
    logits = query @ block.split(block.key(x)).mT * query.shape[-1] ** -0.5
    if bias is not None:
        logits = logits + read(bias.expand(len(h), -1, -1, -1).transpose(1, 2)).transpose(1, 2)
    attention = logits.softmax(-1)  # (L, heads, Q, T)
    own = own.view(*own.shape[:3], *by_head.shape[1::2])
    taken = take(attention, by_head, own, place)
    # Each value has the map's bias, and shares of attention add up to one.
    attended = (attention @ by_head).transpose(1, 2).flatten(2) + bias_of(block.value)
    brought, added = map_both(block.out, attended, taken.flatten(3))
    h = read(h) + block.scale1(brought + bias_of(block.out))
    before = read(parts.transpose(1, 2)).transpose(1, 2) if everywhere else parts
    return through_mlp(block, h, before + block.scale1(added), identity if only_p else with_parts)


def through_mlp(
    block: TransformerBlock,
    h: Tensor,
    parts: Tensor,
    with_parts: Callable[[Tensor], Tensor] = identity,
) -> tuple[Tensor, Tensor]:
    """States (L, Q, H) after the MLP, and the parts (L, G, X, H) of some, with gates held."""
    mlp: Any = block.mlp
    of_parts = held(block.norm2, with_parts(h), parts)
    hidden, risen = map_both(mlp.fc1, block.norm2(h), of_parts)
    hidden = hidden + bias_of(mlp.fc1)
    active = mlp.activation_fn(hidden)
    gates = torch.where(hidden.abs() < LEAST_INPUT, torch.zeros_like(hidden), active / hidden)
    brought, added = map_both(mlp.fc2, active, risen * with_parts(gates)[:, None])
    return h + block.scale2(brought + bias_of(mlp.fc2)), parts + block.scale2(added)


def map_both(linear: nn.Linear, states: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
    """Multiply states (L, T, H) and parts (L, G, X, H) by a map's weights."""
    together = torch.cat([states, parts.flatten(1, 2)], 1) @ linear.weight.T
    T, outputs = states.shape[1], together.shape[2]
    return together[:, :T], together[:, T:].view(*parts.shape[:3], outputs)


def bias_of(linear: nn.Linear) -> Tensor | float:
    """The bias of a map, or zero."""
    return 0.0 if linear.bias is None else linear.bias


def pick(values: Tensor, places: Tensor) -> Tensor:
    """Values (L, 1, …) of (L, Q, …) at one place (L,) of each text."""
    return values[torch.arange(len(values), device=values.device), places][:, None]


def held(norm: nn.Module, state: Tensor, parts: Tensor) -> Tensor:
    """Parts (L, G, …, H) of a state through its layer norm, with its deviation held."""
    assert isinstance(norm, nn.LayerNorm)
    spread = (state.var(-1, correction=0) + norm.eps).rsqrt()[:, None, ..., None]
    return (parts - parts.mean(-1, keepdim=True)) * spread * norm.weight


def add_rest(
    parts: Tensor,
    at_p: Tensor,
    finish: Callable[[Tensor], Tensor],
    last: nn.LayerNorm,
    project: nn.Linear | None,
) -> Tensor:
    """Contributions (L, G, D) of states' parts (L, G - 1, H), with the rest as the last."""
    parts = held(last, at_p, parts)
    if project is not None:
        parts = parts @ project.weight.T  # (L, G - 1, D)
    rest = finish(at_p) - parts.sum(1)
    return torch.cat([parts, rest[:, None]], 1)
