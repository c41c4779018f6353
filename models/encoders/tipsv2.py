"""TIPSv2 (google-deepmind/tips): photos' class token, texts' mean token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from models.encoders.blocks import TransformerBlock, block_of
from models.encoders.halves import RECIPES, ClassToken, TextHalf, half
from models.encoders.library import transformers
from models.encoders.source import layout, number
from models.encoders.words import Spelling
from models.types import ParsedSentence

TEMPERATURE = 0.005065968260169029  # where neither weights nor config.json say another


class Photos(ClassToken):
    """Photos: the first class token, normed; no projection."""

    def __init__(self, folder: Path, precision: str) -> None:
        library = transformers()
        config = library.Tipsv2Config.from_pretrained(folder, local_files_only=True).vision_config
        network = half(library.Tipsv2VisionModel, folder, precision, config=config)
        super().__init__(folder, network, config.hidden_size)
        self.before = 1 + config.num_register_tokens
        if config.use_swiglu_ffn:  # two products instead of an activation to hold
            self.recipes = tuple(recipe for recipe in RECIPES if recipe != "contributed")

    def embed(self, pixels: Tensor) -> Tensor:
        """Class and register tokens, then patches."""
        network: Any = self.network
        states: Tensor = network.embeddings(pixels)
        return states

    def blocks(self) -> list[TransformerBlock]:
        """The encoder's blocks."""
        network: Any = self.network
        return [seeing_block(layer) for layer in network.encoder.layer]

    def end(self) -> tuple[nn.LayerNorm, None]:
        """The last norm."""
        network: Any = self.network
        return network.layernorm, None


def seeing_block(layer: Any) -> TransformerBlock:
    """A layer of TIPSv2's vision encoder as a block."""
    attention = layer.attention
    return TransformerBlock(
        layer.norm1,
        attention.q_proj,
        attention.k_proj,
        attention.v_proj,
        attention.o_proj,
        attention.num_attention_heads,
        layer.norm2,
        layer.mlp,
        layer.layer_scale1,
        layer.layer_scale2,
    )


class Texts(TextHalf):
    """Texts: the mean of final tokens, and words' parts of it.

    No rest is left: there are no marks of start or end, and padding is not in the mean.
    """

    def __init__(self, folder: Path, precision: str) -> None:
        library = transformers()
        config = library.Tipsv2Config.from_pretrained(folder, local_files_only=True).text_config
        network = half(library.Tipsv2TextModel, folder, precision, config=config)
        length = config.max_position_embeddings
        spelling = Spelling.of(folder, length, padded=False, lower=True)
        super().__init__(network, config.hidden_size, spelling)

    def forward(self, sentences: Sequence[ParsedSentence]) -> Tensor:
        """Parts (L, W + 1, D) of texts' vectors."""
        network: Any = self.network
        tokens = self.spelling(sentences)
        weight = network.embeddings.token_embedding.weight
        ids, real = tokens.ids.to(weight.device), tokens.mask
        assert real is not None
        h = network.embeddings(input_ids=ids)
        mask = real.bool().to(h.device)
        bias = h.new_zeros(1, 1, 1, 1).masked_fill(~mask[:, None, None], float("-inf"))
        for layer in network.encoder.layers:
            h = block_of(layer)(h, bias)
        final = network.final_layer_norm(h) * mask[..., None]  # (L, T, D)
        sizes = mask.sum(1)[:, None, None] + network.config.pooling_epsilon
        parts: Tensor = tokens.groups.to(final) @ final / sizes
        return parts


def scale(folder: Path) -> float:
    """The encoder's factor of cosines: the inverse temperature."""
    try:
        temperature = number(folder, "temperature")
    except LookupError:  # learned, but not published
        temperature = layout(folder).config().get("temperature_init_value", TEMPERATURE)
    return 1 / temperature
