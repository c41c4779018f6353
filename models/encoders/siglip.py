"""SigLIP, and SigLIP 2 with photos of one size (Zhai et al. 2023; Tschannen et al. 2025)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encoders.blocks import TransformerBlock, block_of
from models.encoders.contributions import through_all, through_mlp
from models.encoders.halves import RECIPES, PhotoHalf, TextHalf, averages, grid_of, half
from models.encoders.library import transformers
from models.encoders.photos import Preparation
from models.encoders.rollout import SelfAttention, TokenParts
from models.encoders.source import number
from models.encoders.words import Spelling
from models.types import ParsedSentence

TEXTS = 8  # texts in one pass: each of their words has states of its own


class Photos(PhotoHalf):
    """Photos: a learned query attends to the final patches, then an MLP.

    There is no state of a patch in the space of texts without that MLP, so no recipe "tokens".
    """

    recipes = tuple(recipe for recipe in RECIPES if recipe != "tokens")

    def __init__(self, folder: Path, precision: str) -> None:
        network = half(transformers().SiglipVisionModel, folder, precision)
        dimension = network.config.hidden_size
        super().__init__(Preparation.of(folder), network, dimension, grid_of(network))

    def states(self, pixels: Any) -> tuple[Tensor, Tensor | None]:
        """States (K, P, H) before the first block, and a bias of attention for padding."""
        network: Any = self.network
        return network.embeddings(pixels), None

    def look(self, pixels: Any, weights: Tensor, recipe: str) -> tuple[Tensor, Tensor]:
        """Vectors of photos (K, D), and vectors or additions of boxes (K, R, D)."""
        network: Any = self.network
        h, padding = self.states(pixels)
        shares = averages(weights).to(h)  # (K, R, P)
        if recipe == "rollout":
            return self.roll(h, shares, padding)
        for layer in network.encoder.layers:
            h = block_of(layer)(h, padding)
        head, patches = pooling(network.head), network.post_layernorm(h)
        query = head.split(head.query(network.head.probe))  # (1, heads, 1, d)
        if recipe == "contributed":
            return attribute(head, query, patches, shares, padding)
        if recipe == "value":  # as much of each patch as lies in the box, without attention
            photo = head.attend(query.expand(len(h), -1, -1, -1), patches, padding)
            pooled = torch.cat([photo, head.out(shares @ head.value(patches))], 1)
        else:
            bias = self.bias(weights, 0).to(h)  # (K, 1, 1 + R, P)
            bias = bias if padding is None else bias + padding
            pooled = head.attend(query.expand(len(h), -1, bias.shape[2], -1), patches, bias)
        vectors = pooled + head.mlp(head.norm2(pooled))  # (K, 1 + R, D)
        return vectors[:, 0], vectors[:, 1:]

    def roll(self, h: Tensor, shares: Tensor, padding: Tensor | None) -> tuple[Tensor, Tensor]:
        """Vectors of photos (K, D), and readings of shares of patches (K, R, D).

        The direct effect of the query's attention, without the MLP after it.
        """
        network: Any = self.network
        parts = TokenParts(shares, h)
        for layer in network.encoder.layers:
            h, parts = parts.through(SelfAttention.of(block_of(layer), h, padding), h)
        head, norm = pooling(network.head), network.post_layernorm
        query = head.split(head.query(network.head.probe))  # (1, heads, 1, d)
        attention = attend(head, query, norm(h), padding)  # (K, heads, P)
        pooled = head.attend(query.expand(len(h), -1, -1, -1), norm(h), padding)[:, 0]
        photos = pooled + head.mlp(head.norm2(pooled))
        return photos, parts.read(head, norm, h, attention)


def attribute(
    head: TransformerBlock, query: Tensor, patches: Tensor, shares: Tensor, padding: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Vectors of photos (K, D), and contributions of shares (K, R, P) of patches to them.

    The attention of the query (1, heads, 1, d), the norm's deviation and the MLP's gates are held.
    """
    attention = attend(head, query, patches, padding)
    values = head.split(patches @ head.value.weight.T)  # (K, heads, P, d)
    parts = torch.einsum("khp,krp,khpd->krhd", attention, shares, values)
    parts = parts.flatten(2) @ head.out.weight.T
    pooled = head.attend(query.expand(len(patches), -1, -1, -1), patches, padding)
    photos, parts = through_mlp(head, pooled, parts[:, :, None])
    return photos[:, 0], parts[:, :, 0]


def attend(
    head: TransformerBlock, query: Tensor, patches: Tensor, padding: Tensor | None
) -> Tensor:
    """Attention (K, heads, P) of the query (1, heads, 1, d) to normed patches."""
    logits = query @ head.split(head.key(patches)).mT * query.shape[-1] ** -0.5
    attention: Tensor = (logits if padding is None else logits + padding).softmax(-1)
    return attention[:, :, 0]


def pooling(head: Any) -> TransformerBlock:
    """The pooling head as a block on normed states."""
    attention = head.attention
    maps = zip(
        attention.in_proj_weight.chunk(3), attention.in_proj_bias.chunk(3), strict=True
    )  # of queries, keys and values
    query, key, value = (linear(weight, bias) for weight, bias in maps)
    heads, out = attention.num_heads, attention.out_proj
    return TransformerBlock(nn.Identity(), query, key, value, out, heads, head.layernorm, head.mlp)


def linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """An affine map of given weights."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    layer.weight, layer.bias = (
        nn.Parameter(tensor, requires_grad=False) for tensor in (weight, bias)
    )
    return layer


def pad(parts: Sequence[Tensor]) -> Tensor:
    """Parts (W + 1, D), padded to the longest before the last row."""
    widest = max(len(part) for part in parts)
    return torch.stack(
        [torch.cat([F.pad(part[:-1], (0, 0, 0, widest - len(part))), part[-1:]]) for part in parts]
    )


class Texts(TextHalf):
    """Texts: the last of a fixed number of positions.

    It is normed and mapped affinely.

    It was trained on lower case, and on padding. Padding is read like words, and carries their
    meaning from layer to layer.
    """

    model = "SiglipTextModel"  # of transformers

    def __init__(self, folder: Path, precision: str) -> None:
        network = half(getattr(transformers(), self.model), folder, precision)
        length = network.config.max_position_embeddings
        spelling = Spelling.of(folder, length, padded=True, lower=True)
        super().__init__(network, network.config.projection_size, spelling)

    def forward(self, sentences: Sequence[ParsedSentence]) -> Tensor:
        """Parts (L, W + 1, D) of texts' vectors, a few texts at a time."""
        starts = range(0, len(sentences), TEXTS)
        return pad([part for at in starts for part in self.parts(sentences[at : at + TEXTS])])

    def parts(self, sentences: Sequence[ParsedSentence]) -> Tensor:
        """Parts (L, W + 1, D) of a few texts' vectors."""
        network: Any = self.network
        tokens = self.spelling(sentences)
        states = network.embeddings(input_ids=tokens.ids.to(network.head.weight.device))
        L, T, _ = states.shape
        bias = states.new_zeros(1, 1, 1, T)
        if tokens.mask is not None:
            bias = bias.masked_fill(~tokens.mask.bool().to(states.device)[:, None, None], -math.inf)
        return through_all(
            [block_of(layer) for layer in network.encoder.layers],
            states,
            bias.expand(L, 1, T, T),
            torch.full((L,), T - 1, device=states.device),
            tokens.groups.to(states),
            lambda at_last: network.head(network.final_layer_norm(at_last)),
            network.final_layer_norm,
            network.head,
        )


def scale(folder: Path) -> float:
    """The encoder's factor of cosines.

    Its offset is the same for all pairs.
    """
    return math.exp(number(folder, "logit_scale"))
