"""Tiny untrained retrievers of each family, in their official layout."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

SIDE, PATCH = 48, 12
SEEING = {
    "model_type": "siglip_vision_model",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "image_size": SIDE,
    "patch_size": PATCH,
    "vision_use_head": False,
}
READING = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
DIMENSION = 16
MASK_FOLDER = "1_MultiVectorMask"
TRANSFORMER = "sentence_transformers.base.modules.transformer.Transformer"
MASK = "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"


def make(name: str, folder: Path, texts: Sequence[str], seed: int = 0, spread: float = 0.2) -> Any:
    """Save and return a random retriever of a family, with its processor.

    Weights are drawn with a spread: wider than transformers does, so that tokens' vectors differ.
    """
    torch.manual_seed(seed)
    model, processor = MAKERS[name](texts)
    for weight in model.parameters():
        nn.init.normal_(weight, mean=float(weight.ndim < 2), std=spread)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return model.eval()


def add_modules(
    folder: Path, *, last: str = MASK, prompts: Mapping[str, str] | None = None, **mask: Any
) -> None:
    """Write the further files of sentence-transformers into a retriever's folder.

    `mask` has the options of its MultiVectorMask, which is the last module.
    """
    modules = [("", TRANSFORMER), (MASK_FOLDER, last)]
    listed = [
        {"idx": at, "name": f"{at}", "path": path, "type": kind}
        for at, (path, kind) in enumerate(modules)
    ]
    settings = {"skiplist_words": [], "skiplist_tasks": ["document"], "keep_only_token_ids": None}
    embeddings = {"method": "forward", "method_output_name": "embeddings"}
    transformer = {
        "transformer_task": "retrieval",
        "modality_config": {"text": embeddings, "image": embeddings},
        "module_output_name": "token_embeddings",
    }
    (folder / MASK_FOLDER).mkdir()
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "sentence_bert_config.json").write_text(json.dumps(transformer))
    (folder / MASK_FOLDER / "config.json").write_text(json.dumps(settings | mask))
    stated: dict[str, Any] = {"model_type": "MultiVectorEncoder", "similarity_fn_name": "maxsim"}
    stated |= {"prompts": dict(prompts or {})}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(stated))


def train_tokenizer(texts: Sequence[str], special: Sequence[str], **marks: str) -> Any:
    """A byte-level tokenizer of some texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(special), initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks)


def colpali(texts: Sequence[str]) -> tuple[Any, Any]:
    """ColPali: photos are squashed to a square; queries end with padding."""
    from transformers import (
        ColPaliConfig,
        ColPaliForRetrieval,
        ColPaliProcessor,
        PaliGemmaConfig,
        SiglipImageProcessor,
    )

    marks = {"pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>"}
    tokenizer = train_tokenizer(texts, list(marks.values()), **marks)
    photos = SiglipImageProcessor(size={"height": SIDE, "width": SIDE})
    photos.image_seq_length = (SIDE // PATCH) ** 2
    processor = ColPaliProcessor(photos, tokenizer)
    words = len(processor.tokenizer)
    heads = {"num_key_value_heads": 1, "head_dim": 8}
    config = PaliGemmaConfig(
        vision_config=SEEING,
        text_config={"model_type": "gemma", "vocab_size": words, **READING, **heads},
        image_token_index=processor.image_token_id,
        projection_dim=READING["hidden_size"],
    )
    model = ColPaliForRetrieval(ColPaliConfig(vlm_config=config, embedding_dim=DIMENSION))
    return model, processor


def colqwen2(texts: Sequence[str]) -> tuple[Any, Any]:
    """ColQwen2: photos keep their shape; four patches are merged to one."""
    from transformers import (
        ColQwen2Config,
        ColQwen2ForRetrieval,
        ColQwen2Processor,
        Qwen2VLConfig,
        Qwen2VLImageProcessor,
    )

    signs = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"]
    signs += ["<|image_pad|>", "<|video_pad|>"]
    marks = {"pad_token": signs[0], "eos_token": signs[2]}
    tokenizer = train_tokenizer(texts, signs, **marks, padding_side="left")
    number = {sign: tokenizer.convert_tokens_to_ids(sign) for sign in signs}
    area = {"shortest_edge": 24 * 24, "longest_edge": SIDE * SIDE}
    photos = Qwen2VLImageProcessor(patch_size=PATCH // 2, merge_size=2, size=area)
    processor = ColQwen2Processor(photos, tokenizer)
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}
    seeing = {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 4, "mlp_ratio": 2}
    config = Qwen2VLConfig(
        vision_config=seeing | {"patch_size": PATCH // 2, "spatial_merge_size": 2},
        text_config=READING
        | {"vocab_size": len(tokenizer), "num_key_value_heads": 2, "rope_parameters": rope},
        image_token_id=number["<|image_pad|>"],
        video_token_id=number["<|video_pad|>"],
        vision_start_token_id=number["<|vision_start|>"],
        vision_end_token_id=number["<|vision_end|>"],
    )
    model = ColQwen2ForRetrieval(ColQwen2Config(vlm_config=config, embedding_dim=DIMENSION))
    return model, processor


def colmodernvbert(texts: Sequence[str]) -> tuple[Any, Any]:
    """ColModernVBert: photos are cut into squares, and are seen whole as well."""
    from transformers import (
        ColModernVBertConfig,
        ColModernVBertForRetrieval,
        ColModernVBertProcessor,
        Idefics3ImageProcessor,
        ModernVBertConfig,
    )

    marks = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    parts = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    signs = [*marks.values(), "<global-img>", "<|begin_of_text|>", *parts]
    tokenizer = train_tokenizer(texts, signs, **marks)
    photos = Idefics3ImageProcessor(
        size={"longest_edge": 2 * SIDE}, max_image_size={"longest_edge": SIDE}
    )
    factor = 2
    length = (SIDE // PATCH // factor) ** 2
    processor = ColModernVBertProcessor(photos, tokenizer, image_seq_len=length)
    reading = {"model_type": "modernbert", "vocab_size": len(processor.tokenizer), **READING}
    config = ModernVBertConfig(
        vision_config=SEEING,
        text_config=reading | {"pad_token_id": tokenizer.pad_token_id},
        image_token_id=processor.image_token_id,
        pixel_shuffle_factor=factor,
    )
    config = ColModernVBertConfig(vlm_config=config, embedding_dim=DIMENSION)
    return ColModernVBertForRetrieval(config), processor


MAKERS: dict[str, Callable[[Sequence[str]], tuple[Any, Any]]] = {
    "colmodernvbert": colmodernvbert,
    "colpali": colpali,
    "colqwen2": colqwen2,
}
