"""Tiny dual encoders of each family, in their official layout.

They are untrained, or trained on scenes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.data import synthetic
from training.runs.progress import Progress, silent

FAMILIES = ("clip", "siglip", "tipsv2")
BATCH, RATE = 64, 2e-3
FIRST_SEED = 10_000_000  # of training's scenes, beyond those of `tessera scenes`


@dataclass(frozen=True, slots=True)
class Size:
    """Sizes of both halves, of photos, and of texts.

    Photos in pixels, texts in tokens.

    The half that reads may be of another width and number of heads, and know more tokens than
    its tokenizer learns.
    """

    hidden: int = 32
    layers: int = 2
    heads: int = 4
    side: int = 48
    patch: int = 12
    tokens: int = 16
    reading: int = 0
    reading_heads: int = 0
    vocabulary: int = 0


UNTRAINED = Size()
LEARNING = Size(hidden=64, layers=2, side=48, patch=8)


def make_untrained(
    name: str, folder: Path, texts: Sequence[str], size: Size = UNTRAINED, seed: int = 0
) -> Any:
    """Save and return a random encoder of a family.

    With tokenizer and image processor.

    Weights are drawn wider than transformers does, so that no part of the network is idle.
    """
    torch.manual_seed(seed)
    model, tokenizer, processor = MAKERS[name](texts, size)
    for weight in model.parameters():
        nn.init.normal_(weight, mean=float(weight.ndim < 2), std=0.2)
    save(model, tokenizer, processor, folder)
    return model.eval()


def save(model: Any, tokenizer: Any, processor: Any, folder: Path) -> None:
    """Write a model's folder as a hub's repository has it."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    processor.save_pretrained(folder)


def halves(size: Size, words: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return all families' options of both halves."""
    layers = {"num_hidden_layers": size.layers}
    width = {"hidden_size": size.hidden, "num_attention_heads": size.heads}
    reading = size.reading or size.hidden
    reads = {"hidden_size": reading, "num_attention_heads": size.reading_heads or size.heads}
    text_sizes = {"max_position_embeddings": size.tokens, "vocab_size": max(words, size.vocabulary)}
    seeing = layers | width | {"image_size": size.side, "patch_size": size.patch}
    return seeing, layers | reads | text_sizes | {"intermediate_size": 4 * reading}


def clip(texts: Sequence[str], size: Size) -> tuple[Any, Any, Any]:
    """CLIP: photos are cropped in the middle, texts end with a mark."""
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPTokenizer

    tokenizer = CLIPTokenizer().train_new_from_iterator(texts, 300)
    seeing, reading = halves(size, len(tokenizer))
    marks = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = CLIPConfig(
        vision_config=seeing | {"intermediate_size": 4 * size.hidden},
        text_config=reading | marks,
        projection_dim=reading["hidden_size"],
    )
    edges = {"height": size.side, "width": size.side}
    processor = CLIPImageProcessor(size={"shortest_edge": size.side}, crop_size=edges)
    return CLIPModel(config), tokenizer, processor


def siglip(texts: Sequence[str], size: Size) -> tuple[Any, Any, Any]:
    """SigLIP 2 with photos of one size.

    Photos are squashed, texts padded to one length.
    """
    from transformers import Siglip2Tokenizer, SiglipConfig, SiglipImageProcessor, SiglipModel

    tokenizer = Siglip2Tokenizer(model_input_names=["input_ids"])
    words = [
        f" {word}".lower() for text in texts for word in text.split()
    ]  # no token crosses words
    tokenizer = tokenizer.train_new_from_iterator([*words, *(word[1:] for word in words)], 300)
    seeing, reading = halves(size, len(tokenizer))
    config = SiglipConfig(
        vision_config=seeing | {"intermediate_size": 4 * size.hidden},
        text_config=reading
        | {"projection_size": size.hidden}
        | {"bos_token_id": None, "eos_token_id": None, "pad_token_id": tokenizer.pad_token_id},
    )
    edges = {"height": size.side, "width": size.side}
    return SiglipModel(config), tokenizer, SiglipImageProcessor(size=edges)


def siglip2(texts: Sequence[str], size: Size) -> tuple[Any, Any, Any]:
    """SigLIP 2 NaFlex: photos keep their shape.

    They have as many patches as a square of the size.
    """
    from transformers import Siglip2Config, Siglip2ImageProcessor, Siglip2Model

    _, tokenizer, _ = siglip(texts, size)
    seeing, reading = halves(size, len(tokenizer))
    patches = (size.side // size.patch) ** 2
    del seeing["image_size"]
    config = Siglip2Config(
        vision_config=seeing | {"intermediate_size": 4 * size.hidden, "num_patches": patches},
        text_config=reading
        | {"projection_size": size.hidden}
        | {"bos_token_id": None, "eos_token_id": None, "pad_token_id": tokenizer.pad_token_id},
    )
    processor = Siglip2ImageProcessor(patch_size=size.patch, max_num_patches=patches)
    return Siglip2Model(config), tokenizer, processor


def tipsv2(texts: Sequence[str], size: Size) -> tuple[Any, Any, Any]:
    """TIPSv2 with photos of one size.

    Photos are not normed; a text's vector is the mean of its tokens.
    """
    from transformers import Tipsv2Config, Tipsv2ImageProcessor, Tipsv2Model, Tipsv2Tokenizer

    tokenizer = Tipsv2Tokenizer().train_new_from_iterator(texts, 300)
    seeing, reading = halves(size, len(tokenizer))
    config = Tipsv2Config(
        vision_config=seeing,
        text_config=reading,
    )
    edges = {"height": size.side, "width": size.side}
    return Tipsv2Model(config), tokenizer, Tipsv2ImageProcessor(size=edges)


MAKERS: dict[str, Callable[[Sequence[str], Size], tuple[Any, Any, Any]]] = {
    "clip": clip,
    "siglip": siglip,
    "siglip2": siglip2,
    "tipsv2": tipsv2,
}


@dataclass(frozen=True, slots=True)
class SceneDataset:
    """Scenes as pixels (N, 3, S, S), texts as ids (L, T) and masks, and true pairs (N, L).

    A text is true of a scene that has all the shapes that it names.
    """

    pixels: Tensor
    texts: dict[str, Tensor]
    true: Tensor


def train(
    name: str,
    folder: Path,
    *,
    scenes: int = 3000,
    steps: int = 1500,
    size: Size = LEARNING,
    seed: int = 0,
    progress: Progress = silent,
) -> None:
    """Train an encoder on synthetic scenes and save it.

    This takes minutes on one core.

    The loss is the family's own: of each photo's texts and each text's photos among the batch's
    (Radford et al. 2021), or of each pair alone for SigLIP (Zhai et al. 2023, section 3.2), with
    every true pair of a batch as a true one.
    """
    torch.manual_seed(seed)
    pictures = [synthetic.make_scene(FIRST_SEED + number) for number in range(scenes)]
    model, tokenizer, processor = MAKERS[name](
        sorted({text for scene in pictures for text in list_texts(scene)}), size
    )
    if name == "siglip":  # as it begins (Zhai et al. 2023, section 3.2): most pairs are false
        nn.init.constant_(model.logit_scale, math.log(10))
        nn.init.constant_(model.logit_bias, -10)
    dataset = make_dataset(pictures, tokenizer, processor, name, size)
    descend(model, dataset, LOSSES.get(name, softmax_loss), steps, seed, progress)
    save(model.eval(), tokenizer, processor, folder)


def descend(
    model: Any,
    dataset: SceneDataset,
    loss_of: Callable[[Tensor, Tensor], Tensor],
    steps: int,
    seed: int,
    progress: Progress,
) -> None:
    """Take `steps` steps down a loss of logits (K, L) and true pairs (K, L)."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.05)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps, pct_start=0.1)
    generator = torch.Generator().manual_seed(seed)
    model.train()
    for _ in progress(range(steps), steps, "steps"):
        photos = torch.randperm(len(dataset.pixels), generator=generator)[:BATCH]
        chosen = torch.multinomial(dataset.true[photos].float(), 1, generator=generator)[:, 0]
        inputs = {key: ids[chosen] for key, ids in dataset.texts.items()}
        output = model(pixel_values=dataset.pixels[photos], **inputs)
        loss = loss_of(output.logits_per_image, dataset.true[photos][:, chosen])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call] # torch's
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rates.step()


def list_texts(scene: synthetic.Scene) -> list[str]:
    """List the sentences of a scene, and its shapes alone."""
    sentences = [" ".join(sentence["tokens"]) for sentence in synthetic.make_sentences(scene)]
    return [
        *sentences,
        *(f"a {shape.colour} {shape.kind}" for shape in (scene.first, scene.second)),
    ]


def make_dataset(
    scenes: Sequence[synthetic.Scene], tokenizer: Any, processor: Any, name: str, size: Size
) -> SceneDataset:
    """Prepare scenes and their texts by the family's own processors."""
    photos = [synthetic.draw(scene) for scene in scenes]
    pixels = torch.cat(
        [
            processor(photos[at : at + 500], return_tensors="pt")["pixel_values"]
            for at in range(0, len(photos), 500)
        ]
    )
    named = {text: name_shapes(scene, text) for scene in scenes for text in list_texts(scene)}
    padding = True if name == "clip" else "max_length"
    encoded = tokenizer(
        list(named), padding=padding, max_length=size.tokens, truncation=True, return_tensors="pt"
    )
    kinds = sorted({shape for shapes in named.values() for shape in shapes})
    shown = torch.tensor(
        [[(kind in name_shapes(scene, None)) for kind in kinds] for scene in scenes]
    )
    in_text = torch.tensor([[(kind in shapes) for kind in kinds] for shapes in named.values()])
    true = (in_text.float() @ (~shown).float().T == 0).T  # (N, L): no shape of the text is absent
    return SceneDataset(pixels, dict(encoded), true)


def name_shapes(scene: synthetic.Scene, text: str | None) -> frozenset[str]:
    """Name the scene's shapes in a text, or all."""
    shapes = {f"{shape.colour} {shape.kind}" for shape in (scene.first, scene.second)}
    return frozenset(shape for shape in shapes if text is None or shape in text)


def softmax_loss(logits: Tensor, true: Tensor) -> Tensor:
    """Cross entropy of logits (K, L) both ways, true pairs (K, L) sharing their row's weight."""
    shares = true / true.sum(1, keepdim=True).clamp_min(1)
    back = true.T / true.T.sum(1, keepdim=True).clamp_min(1)
    return (F.cross_entropy(logits, shares) + F.cross_entropy(logits.T, back)) / 2


def sigmoid_loss(logits: Tensor, true: Tensor) -> Tensor:
    """-Σ log σ(± logits) (Zhai et al. 2023, eq. 1), a mean over photos."""
    signs = 2 * true.float() - 1
    return -F.logsigmoid(signs * logits).sum(1).mean()


LOSSES = {"siglip": sigmoid_loss}
