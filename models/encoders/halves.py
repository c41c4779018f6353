"""Halves of a dual encoder, for photos and for texts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from torch import Tensor, nn

from models.encoders.blocks import TransformerBlock
from models.encoders.contributions import contributions, held
from models.encoders.occlusion import mean_size, occlude, spread, veil_pixels
from models.encoders.photos import Preparation
from models.encoders.rollout import SelfAttention, TokenParts
from models.encoders.source import layout
from models.encoders.words import Spelling
from models.types import ParsedSentence

RECIPES = ("masked", "value", "tokens", "contributed", "rollout", "occluded")
ADDED = (
    "contributed",
    "rollout",
    "occluded",
)  # recipes of additions to the photo's vector, not of boxes' own vectors
PRECISIONS = ("float32", "bfloat16")


def half(kind: Any, folder: Path, precision: str, **options: Any) -> Any:
    """One half of a folder's weights as a frozen class of transformers.

    No code of the folder runs.

    ValueError if a weight is missing, which transformers would make up, or of another shape.
    """
    state = layout(folder).state()
    try:
        network, report = kind.from_pretrained(
            folder if state is None else None,
            state_dict=state,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            dtype=getattr(torch, precision),
            **options,
        )
    except (RuntimeError, SafetensorError) as unlike:
        raise ValueError(f"{wrong(folder)}: {unlike}") from unlike
    if missing := sorted(report["missing_keys"]):
        raise ValueError(f"{wrong(folder)}: they lack {', '.join(missing[:3])}")
    return network.requires_grad_(False).eval()


def wrong(folder: Path) -> str:
    """The message for weights of another model."""
    return (
        f"the weights in {folder} are not of the model that its {layout(folder).config_file} says"
    )


def grid_of(network: Any) -> tuple[int, int]:
    """Rows and columns of a network's patches, from one size or two."""
    size, patch = network.config.image_size, network.config.patch_size
    tall, wide = size if isinstance(size, list | tuple) else (size, size)
    down, across = patch if isinstance(patch, list | tuple) else (patch, patch)
    return tall // down, wide // across


class PhotoHalf(nn.Module, ABC):
    """The half for photos: vectors of photos and of boxes.

    The photo's vector is the official one. A box's is made by a recipe outside the encoder's
    training, so the best recipe is measured (`tessera tune`):

    - "masked": the attention that pools the photo's vector sees the box's patches alone.
    - "value": the box's patches by the value path of that attention, each by its share in the
      box, as MaskCLIP (Zhou et al. 2022) and TextRegion make them.
    - "tokens": the final states of the box's patches, averaged.
    - "contributed": the part of the box's patches in the photo's vector, with attention weights,
      deviations of norms and gates of MLPs held (models.encoders.contributions).
    - "rollout": what attention reads of the box's patches for the pooled position, where a state
      counts as that of the patches that went into it (models.encoders.rollout).
    - "occluded": the loss of the photo's vector when the box is veiled; a pass a box.

    The last three are a mean over the box's patches, times the mean size of the photo's boxes, so
    that large and small boxes compare.
    """

    recipes: tuple[str, ...] = RECIPES

    def __init__(
        self, preparation: Any, network: nn.Module, dimension: int, grid: tuple[int, int]
    ) -> None:
        """Take a preparation as in models.encoders.photos, and a grid of P patches."""
        super().__init__()
        self.network, self.dimension, self.preparation = network, dimension, preparation
        self.rows, self.columns = grid

    def grid(self, height: int, width: int) -> tuple[int, int]:  # noqa: ARG002 - one for all photos
        """Rows and columns of a photo's patches, without padding."""
        return self.rows, self.columns

    def forward(self, pixels: Any, weights: Tensor, recipe: str) -> tuple[Tensor, Tensor]:
        """Vectors of photos (K, D) and of boxes (K, R, D), of any lengths.

        Shapes: pixels (K, 3, S, S) or the preparation's own values; weights (K, R, P) of patches. A
        box without patches changes no other box. It adds nothing in recipes of additions; in others
        its vector has no meaning.
        """
        if recipe == "occluded":
            photos, added = occlude(self.see, self.veil, pixels, weights)
            return photos, photos[:, None] + added
        inside = weights.any(-1, keepdim=True)  # (K, R, 1)
        photos, boxes = self.look(pixels, torch.where(inside, weights, 1.0), recipe)
        if recipe == "rollout":  # what a box gave is what is lost without it
            added = spread(boxes.float() * weights.sum(-1, keepdim=True), weights.float())
            return photos, photos[:, None] + added
        if recipe == "contributed":
            boxes = photos[:, None] + boxes * (mean_size(weights) * inside).to(boxes)
        return photos, boxes

    @abstractmethod
    def look(self, pixels: Any, weights: Tensor, recipe: str) -> tuple[Tensor, Tensor]:
        """Vectors of photos (K, D) and of boxes (K, R, D) by one pass.

        Each box has at least one patch.

        For "contributed" and "rollout", a box has its patches' mean part in the photo's vector.
        """

    def see(self, pixels: Any) -> Tensor:
        """Vectors of photos (K, D) alone."""
        device = next(self.network.parameters()).device
        everything = torch.ones(len(pixels), 1, self.rows * self.columns, device=device)
        return self.look(pixels, everything, "value")[0]

    def veil(self, pixels: Any, veil: Tensor) -> Any:
        """Pixels faded into the photo's mean colour by shares (K, P)."""
        return veil_pixels(pixels, veil, (self.rows, self.columns))

    def bias(self, weights: Tensor, before: int) -> Tensor:
        """Biases of attention (K, 1, 1 + R, before + P): the photo sees all, boxes their patches.

        A patch that lies in a box by a share w counts w times.
        """
        K, R, P = weights.shape
        bias = weights.new_zeros(K, 1, 1 + R, before + P)
        bias[:, 0, 1:, :before] = -math.inf
        bias[:, 0, 1:, before:] = weights.log()
        return bias


def averages(weights: Tensor) -> Tensor:
    """Weights (K, R, P) of patches, normalised to a sum of one for each box."""
    return weights / weights.sum(-1, keepdim=True)


class ClassToken(PhotoHalf):
    """A half with a class token before the patches.

    Its last block pools it.
    """

    before: int  # tokens before the patches

    def __init__(self, folder: Path, network: nn.Module, dimension: int) -> None:
        super().__init__(Preparation.of(folder), network, dimension, grid_of(network))

    @abstractmethod
    def embed(self, pixels: Tensor) -> Tensor:
        """States (K, T, H) before the first block."""

    @abstractmethod
    def blocks(self) -> list[TransformerBlock]:
        """The encoder's blocks."""

    @abstractmethod
    def end(self) -> tuple[nn.LayerNorm, nn.Linear | None]:
        """The last norm, and the map after it, if there is one."""

    def finish(self, states: Tensor) -> Tensor:
        """Vectors (…, D) of final states (…, H)."""
        norm, project = self.end()
        vectors: Tensor = norm(states)
        return vectors if project is None else project(vectors)

    def look(self, pixels: Tensor, weights: Tensor, recipe: str) -> tuple[Tensor, Tensor]:
        """Vectors of photos (K, D), and vectors or additions of boxes (K, R, D)."""
        *blocks, last = self.blocks()
        h = self.embed(pixels)
        shares = averages(weights).to(h)  # (K, R, P)
        if recipe == "contributed":
            return self.attribute(h, shares)
        if recipe == "rollout":
            return self.roll(h, shares)
        for block in blocks:
            h = block(h)
        if recipe == "masked":
            x = last.norm1(h)
            bias = self.bias(weights, self.before).to(h)  # (K, 1, 1 + R, T)
            query = last.split(last.query(x[:, :1])).expand(-1, -1, bias.shape[2], -1)
            pooled = self.finish(last.finish(h[:, :1], last.attend(query, x, bias)))
            return pooled[:, 0], pooled[:, 1:]
        states = last(h)
        if recipe == "tokens":
            return self.finish(states[:, 0]), shares @ self.finish(states[:, self.before :])
        values = last.value(last.norm1(h[:, self.before :]))  # (K, P, H)
        return self.finish(states[:, 0]), self.finish(last.scale1(last.out(shares @ values)))

    def attribute(self, h: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of photos (K, D), and contributions of shares of patches to them (K, R, D).

        States h (K, T, H) are those before the first block.
        """
        groups = F.pad(shares, (self.before, 0, 0, 1))  # (K, R + 1, T), the last of no token
        pooled = torch.zeros(len(h), dtype=torch.long, device=h.device)
        parts = contributions(
            self.blocks(), h, None, pooled, groups, self.finish, *self.end()
        )  # (K, R + 1, D)
        return parts.sum(1), parts[:, :-1]

    def roll(self, h: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of photos (K, D), and readings of shares of patches (K, R, D).

        The direct effects of all blocks' attention on the class token (Gandelsman et al. 2024,
        section 3), with the deviation of the last norm held.
        """
        parts = TokenParts(F.pad(shares, (self.before, 0)), h)
        read = h.new_zeros(*shares.shape[:2], h.shape[-1])  # (K, R, H)
        for block in self.blocks():
            attention = SelfAttention.of(block, h, None)
            read = read + parts.read(block, block.norm1, h, attention.weights[:, :, 0])
            h, parts = parts.through(attention, h)
        norm, project = self.end()
        read = held(norm, h[:, 0], read)
        return self.finish(h[:, 0]), read if project is None else project(read)


class TextHalf(nn.Module, ABC):
    """The half for texts: each word's part of the vector."""

    def __init__(self, network: nn.Module, dimension: int, spelling: Spelling) -> None:
        super().__init__()
        self.network, self.dimension, self.spelling = network, dimension, spelling

    def find_unknown_token(self) -> str | None:
        """Find a token of the tokenizer without a vector in the network."""
        network: Any = self.network
        vectors = network.get_input_embeddings().num_embeddings
        token, number = max(self.spelling.tokenizer.get_vocab().items(), key=itemgetter(1))
        return token if number >= vectors else None

    @abstractmethod
    def forward(self, sentences: Sequence[ParsedSentence]) -> Tensor:
        """Parts (L, W + 1, D) of unnormed vectors: of words, then of no word.

        Each sentence's parts add up to its official vector; those beyond its words are zero.
        """
