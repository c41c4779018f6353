"""The layout of open_clip, read as CLIP in transformers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from models.encoders.layouts import TOKENIZER, FolderLayout
from models.encoders.library import transformers

# What open_clip takes for options that are left out.
VISION = {
    "layers": 12,
    "width": 768,
    "head_width": 64,
    "mlp_ratio": 4.0,
    "patch_size": 16,
    "image_size": 224,
}
TEXT = {
    "layers": 12,
    "width": 512,
    "heads": 8,
    "mlp_ratio": 4.0,
    "context_length": 77,
    "vocab_size": 49408,
}
SIDES = ("image_size", "patch_size")  # which may be two numbers, of a square
MODEL = ("embed_dim", "quick_gelu", "vision_cfg", "text_cfg")
# Options that change nothing of a trained CLIP's vectors, or only together with a refused one.
IDLE = (
    *("patch_dropout", "attn_pooler_queries", "attn_pooler_heads", "eos_id", "pad_id"),
    *("timm_model_pretrained", "timm_pool", "timm_proj", "timm_proj_bias", "timm_drop"),
    *("timm_drop_path", "hf_model_pretrained", "hf_proj_type", "hf_pooler_type"),
    *("init_logit_scale", "init_logit_bias", "nonscalar_logit_scale"),
)
# The one choice that is computed, of options that always have one; others have to be off.
CHOICES = {
    "vision_cfg": {"pool_type": "tok", "pos_embed_type": "learnable"},
    "text_cfg": {"pool_type": "argmax", "proj_type": "linear"},
}
PREPROCESSING = {
    "mean": (0.48145466, 0.4578275, 0.40821073),
    "std": (0.26862954, 0.26130258, 0.27577711),
    "interpolation": "bicubic",
    "resize_mode": "shortest",
}
RESIZE = ("shortest", "squash")
RESAMPLE = {"bilinear": 2, "bicubic": 3, "random": 3}  # Pillow's numbers; as open_clip evaluates
HIGHEST = 2  # as end token: CLIP then pools at the highest number, see models.encoders.clip

ENDS = {
    "visual.class_embedding": "vision_model.embeddings.class_embedding",
    "visual.conv1.weight": "vision_model.embeddings.patch_embedding.weight",
    "visual.positional_embedding": "vision_model.embeddings.position_embedding.weight",
    "visual.ln_pre.weight": "vision_model.pre_layrnorm.weight",
    "visual.ln_pre.bias": "vision_model.pre_layrnorm.bias",
    "visual.ln_post.weight": "vision_model.post_layernorm.weight",
    "visual.ln_post.bias": "vision_model.post_layernorm.bias",
    "token_embedding.weight": "text_model.embeddings.token_embedding.weight",
    "positional_embedding": "text_model.embeddings.position_embedding.weight",
    "ln_final.weight": "text_model.final_layer_norm.weight",
    "ln_final.bias": "text_model.final_layer_norm.bias",
    "logit_scale": "logit_scale",
}
TRANSPOSED = {
    "visual.proj": "visual_projection.weight",
    "text_projection": "text_projection.weight",
}
BLOCKS = {
    "visual.transformer.resblocks.": "vision_model.encoder.layers.",
    "transformer.resblocks.": "text_model.encoder.layers.",
}
PARTS = {
    "ln_1": "layer_norm1",
    "attn.out_proj": "self_attn.out_proj",
    "ln_2": "layer_norm2",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
}


@dataclass(frozen=True, slots=True)
class OpenClipLayout(FolderLayout):
    """A folder in open_clip's layout, of a CLIP with open_clip's own two halves."""

    config_file: ClassVar[str] = "open_clip_config.json"
    weights_file: ClassVar[str] = "open_clip_model.safetensors"
    publisher: ClassVar[str] = "open_clip"

    def config(self) -> dict[str, Any]:
        """The settings of CLIP in transformers; ValueError for options without a counterpart."""
        model = FolderLayout.config(self).get("model_cfg")
        if not isinstance(model, dict):
            raise ValueError(f"{self.place} has no model_cfg; open_clip writes one")
        vision, text = self.half(model, "vision_cfg", VISION), self.half(model, "text_cfg", TEXT)
        self.refuse_others("model_cfg", model, MODEL)
        if not isinstance(size := model.get("embed_dim"), int):
            raise ValueError(f"{self.place} has no embed_dim, a number, in its model_cfg")
        shared = {"hidden_act": "quick_gelu" if model.get("quick_gelu") else "gelu"}
        return {
            "model_type": "clip",
            "projection_dim": size,
            "vision_config": shared
            | network(vision, vision["width"] // vision["head_width"])
            | {"image_size": vision["image_size"], "patch_size": vision["patch_size"]},
            "text_config": shared
            | network(text, text["heads"])
            | {"vocab_size": text["vocab_size"], "eos_token_id": HIGHEST}
            | {"max_position_embeddings": text["context_length"]},
        }

    @property
    def place(self) -> str:
        """The file of the settings, for messages."""
        return str(self.folder / self.config_file)

    def half(self, model: Mapping[str, Any], part: str, known: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a half with defaults; ValueError for an unsupported one."""
        options = model.get(part)
        if not isinstance(options, dict):
            raise ValueError(f"{self.place} has no {part} in its model_cfg; open_clip writes one")
        self.refuse_others(part, options, known)
        return {
            name: self.size(part, name, options.get(name, usual)) for name, usual in known.items()
        }

    def size(self, part: str, name: str, value: Any) -> Any:
        """One number; ValueError for several (the layers of a ResNet) or none."""
        if name in SIDES and isinstance(value, list) and len(set(value)) == 1:
            value = value[0]
        if not isinstance(value, int | float) or value <= 0:
            raise self.refusal(name, value, part)
        return value

    def refuse_others(self, part: str, options: Mapping[str, Any], known: Any) -> None:
        """Raise ValueError for options outside the known, idle, usual and unset ones."""
        for name, value in options.items():
            usual = CHOICES.get(part, {}).get(name)
            if name not in known and name not in IDLE and (value != usual if usual else value):
                raise self.refusal(name, value, part)

    def refusal(self, name: str, value: object, part: str) -> ValueError:
        """The error for an option without support."""
        return ValueError(
            f"{self.place} has {name} = {value!r} in its {part}: of open_clip's models, Tessera "
            "computes CLIP alone (a ViT and open_clip's own text tower). Take the same model in "
            "the layout of transformers, "
            f"{FolderLayout.config_file} and {FolderLayout.weights_file}"
        )

    def corner(self, at: float) -> int:
        """The first pixel of a centre crop, rounded as torchvision does."""
        return round(at)

    def preprocessors(self) -> list[str]:
        """No files: the settings describe preparation; they are checked here."""
        self.preprocessing()
        return []

    def lacking(self, name: str) -> str:
        """The message for a missing file; open_clip itself needs no tokenizer.json."""
        if name != TOKENIZER:
            return FolderLayout.lacking(self, name)
        return (
            f"{self.folder} lacks {name}: Tessera reads the tokenizer in the folder. All of these "
            "models have the same: copy that of openai/clip-vit-base-patch32, or of any other CLIP"
        )

    def state(self) -> dict[str, Tensor]:
        """The weights by their names in transformers; ValueError for a broken file."""
        named: dict[str, Tensor] = {}
        for file in self.tensors():
            try:
                tensors = load_file(file)
            except SafetensorError as broken:
                raise ValueError(f"{file} is not a safetensors file: {broken}") from broken
            named |= {new: part for name in tensors for new, part in rename(name, tensors[name])}
        return named

    def preprocessing(self) -> dict[str, Any]:
        """The preparation of photos with defaults; ValueError for an unsupported choice."""
        stated = FolderLayout.config(self).get("preprocess_cfg") or {}
        chosen = PREPROCESSING | {
            name: value for name, value in stated.items() if value is not None
        }
        for name, possible in (("resize_mode", RESIZE), ("interpolation", RESAMPLE)):
            if chosen[name] not in possible:
                raise self.refusal(name, chosen[name], "preprocess_cfg")
        return chosen

    def image_processor(self) -> Any:
        """CLIP's image processor on Pillow with open_clip's preparation and torchvision's crop.

        The size is the network's, as in open_clip, even if the preprocessing has another.
        """
        chosen = self.preprocessing()
        side = self.config()["vision_config"]["image_size"]
        square = {"height": side, "width": side}
        crops = chosen["resize_mode"] == "shortest"
        processor = transformers().CLIPImageProcessorPil(
            size={"shortest_edge": side} if crops else square,
            crop_size=square,
            do_center_crop=crops,
            resample=RESAMPLE[chosen["interpolation"]],
            image_mean=channels(chosen["mean"]),
            image_std=channels(chosen["std"]),
        )
        processor.center_crop = crop_center
        return processor

    def tokenizer(self) -> Any:
        """CLIP's tokenizer in lower case, as in open_clip."""
        return transformers().CLIPTokenizer.from_pretrained(self.folder, local_files_only=True)


def network(options: Mapping[str, Any], heads: int) -> dict[str, Any]:
    """The sizes of both halves."""
    return {
        "hidden_size": options["width"],
        "intermediate_size": int(options["width"] * options["mlp_ratio"]),
        "num_hidden_layers": options["layers"],
        "num_attention_heads": heads,
    }


def channels(value: Any) -> list[float]:
    """A number for each of three channels, of one or of three."""
    return list(value) if isinstance(value, list | tuple) else [value] * 3


def crop_center(image: np.ndarray, size: Any) -> np.ndarray:
    """The centre of a photo (3, H, W), at torchvision's pixels."""
    corner = zip(image.shape[1:], (size.height, size.width), strict=True)
    top, left = (round((edge - side) / 2) for edge, side in corner)
    return image[:, top : top + size.height, left : left + size.width]


def rename(name: str, tensor: Tensor) -> Iterator[tuple[str, Tensor]]:
    """A tensor of open_clip by its name in transformers, if it has one.

    Queries, keys and values are rows of one tensor in open_clip, and three in transformers.
    """
    if name in ENDS:
        yield ENDS[name], tensor
    elif name in TRANSPOSED:
        yield TRANSPOSED[name], tensor.T.contiguous()
    for start, new in BLOCKS.items():
        if name.startswith(start):
            yield from in_block(name.removeprefix(start), new, tensor)


def in_block(name: str, start: str, tensor: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Names within a half's blocks, such as 0.attn.in_proj_weight, as in `rename`."""
    number, _, rest = name.partition(".")
    part, _, kind = rest.rpartition(".")
    if rest.startswith("attn.in_proj_"):
        kind = rest.removeprefix("attn.in_proj_")
        for map_name, chunk in zip("qkv", tensor.chunk(3), strict=True):
            yield f"{start}{number}.self_attn.{map_name}_proj.{kind}", chunk
    elif part in PARTS:
        yield f"{start}{number}.{PARTS[part]}.{kind}", tensor
