"""Tiny random encoders of each family, made once a process.

Their folders are as in a hub.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.models import tiny_encoders, tiny_retrievers
from models.encoders.source import EncoderSource

OPEN_CLIP: dict[str, Any] = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 64, "layers": 2, "width": 32, "head_width": 8, "patch_size": 16},
    "text_cfg": {"context_length": 40, "width": 16, "heads": 2, "layers": 2, "mlp_ratio": 3.0},
}

TEXTS = (
    "A dog runs on the beach.",
    "dog",
    "a red circle, left of a blue square: it isn't",
    "two cats (and a bird)",
    "a tree above the house",
)


@cache
def folder(family: str) -> Path:
    """The folder of a family's encoder; no one may change it."""
    made = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    tiny_encoders.make_untrained(family, made / family, TEXTS)
    return made / family


@cache
def retriever(family: str) -> Path:
    """The folder of a retriever; no one may change it."""
    made = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    tiny_retrievers.make(family, made / family, TEXTS)
    return made / family


def options(family: str) -> dict[str, object]:
    """Options of a tower on a folder."""
    return options_of(folder(family))


def options_of(weights: Path) -> dict[str, object]:
    """Options of a tower on a folder."""
    source = EncoderSource.of(weights)
    return {"folder": source.folder, "files": source.files, "rank": 4}


@cache
def open_clip_tokenizer() -> Any:
    """CLIP's tokenizer in transformers, of open_clip's vocabulary."""
    from open_clip.tokenizer import SimpleTokenizer
    from transformers import CLIPTokenizer

    brought = SimpleTokenizer()
    *tokens, _, _ = brought.encoder
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    return CLIPTokenizer(vocab=vocabulary, merges=list(brought.bpe_ranks))


def save_open_clip(made: Path, preprocessing: dict[str, Any], **sizes: Any) -> None:
    """Save a random CLIP by open_clip's function for publication."""
    import open_clip
    import torch
    from open_clip.push_to_hf_hub import save_for_hf

    sizes = OPEN_CLIP | sizes
    torch.manual_seed(0)
    model = open_clip.CLIP(**sizes)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, mean=float(weight.ndim < 2), std=0.2)
    stated = {"mean": open_clip.OPENAI_DATASET_MEAN, "std": open_clip.OPENAI_DATASET_STD}
    open_clip.model.set_model_preprocess_cfg(model, stated | preprocessing)
    save_for_hf(model, open_clip_tokenizer(), sizes, made, safe_serialization=True)


@cache
def open_clip_folder() -> Path:
    """A folder in open_clip's layout; no one may change it."""
    made = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    save_open_clip(made, {})
    return made
