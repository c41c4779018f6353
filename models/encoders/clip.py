"""CLIP (Radford et al. 2021): class tokens of photos, last tokens of texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from models.encoders.blocks import TransformerBlock, block_of
from models.encoders.contributions import contributions
from models.encoders.halves import ClassToken, TextHalf, half
from models.encoders.library import transformers
from models.encoders.source import layout, number
from models.encoders.words import Spelling
from models.types import ParsedSentence

OLD_END = 2  # config.json of many CLIPs calls the end token so, whose number is the highest


class Photos(ClassToken):
    """Photos: the class token after the last block, normed and projected."""

    before = 1

    def __init__(self, folder: Path, precision: str) -> None:
        library = transformers()
        config = library.CLIPConfig.from_dict(layout(folder).config())
        config.vision_config.projection_dim = config.projection_dim  # the other's may be a default
        kind = library.CLIPVisionModelWithProjection
        network = half(kind, folder, precision, config=config.vision_config)
        super().__init__(folder, network, network.config.projection_dim)

    def embed(self, pixels: Tensor) -> Tensor:
        """Patches, the class token before them, normed."""
        model: Any = self.network.vision_model
        states: Tensor = model.pre_layrnorm(model.embeddings(pixels))
        return states

    def blocks(self) -> list[TransformerBlock]:
        """The encoder's blocks."""
        model: Any = self.network.vision_model
        return [block_of(layer) for layer in model.encoder.layers]

    def end(self) -> tuple[nn.LayerNorm, nn.Linear]:
        """The last norm and the projection."""
        network: Any = self.network
        return network.vision_model.post_layernorm, network.visual_projection


class Texts(TextHalf):
    """Texts: the normed, projected state of the last token.

    Attention is causal.
    """

    def __init__(self, folder: Path, precision: str) -> None:
        library = transformers()
        config = library.CLIPConfig.from_dict(layout(folder).config())
        config.text_config.projection_dim = config.projection_dim
        kind = library.CLIPTextModelWithProjection
        network = half(kind, folder, precision, config=config.text_config)
        length = network.config.max_position_embeddings
        spelling = Spelling.of(folder, length, padded=False, lower=False)
        super().__init__(network, network.config.projection_dim, spelling)

    def forward(self, sentences: Sequence[ParsedSentence]) -> Tensor:
        """Parts (L, W + 1, D) of texts' vectors."""
        network: Any = self.network
        model = network.text_model
        tokens = self.spelling(sentences)
        device = network.text_projection.weight.device
        ids = tokens.ids.to(device)
        states = model.embeddings(input_ids=ids)
        T = ids.shape[1]
        bias = states.new_full((T, T), -math.inf).triu(1)[None, None]
        return contributions(
            [block_of(layer) for layer in model.encoder.layers],
            states,
            bias,
            self.ends(ids),
            tokens.groups.to(states),
            lambda at_end: network.text_projection(model.final_layer_norm(at_end)),
            model.final_layer_norm,
            network.text_projection,
        )

    def ends(self, ids: Tensor) -> Tensor:
        """The position of each text's end token, (L,), as transformers finds it."""
        config: Any = self.network.config
        end = config.eos_token_id
        marked = ids if end == OLD_END else ids.eq(end).int()
        return marked.argmax(dim=-1)


def scale(folder: Path) -> float:
    """The encoder's factor of cosines: e to the logit scale."""
    return math.exp(number(folder, "logit_scale"))
