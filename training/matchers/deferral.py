"""Fixed parts of towers, passed once by a split's inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from torch import Tensor, nn

from models.matcher import TwoTowerMatcher
from models.types import PaddedBags
from training.matchers.matching import Pairs, encode_all
from training.runs.cache import Deferred


def defer_fixed(pairs: Pairs, model: TwoTowerMatcher, device: str, *, whole: bool = False) -> Pairs:
    """Pass inputs through their tower's slow fixed part once.

    They pass at the first request, when a resumed run has its weights. With `whole` sentences pass
    all of a text tower that does not learn, without dropout; their bags stay in memory.
    """
    whole = whole and is_frozen(model.text)

    def once(encode: Callable[[PaddedBags], PaddedBags], inputs: Sequence[Tensor]) -> Deferred:
        return Deferred(len(inputs), lambda: encode_all(encode, inputs, device))

    encode = choose_fixed_part(model, whole)
    if encode:
        labels = pairs.labels and replace(pairs.labels, inputs=once(encode, pairs.labels.inputs))
        sentences = once(encode, pairs.sentences)
        pairs = replace(pairs, sentences=sentences, labels=labels, fixed=not whole, encoded=whole)
    if model.image.precomputes:
        mirrored = pairs.mirrored and once(model.image.precompute, pairs.mirrored)
        images = once(model.image.precompute, pairs.images)
        pairs = replace(pairs, images=images, mirrored=mirrored, fixed_images=True)
    return pairs


def choose_fixed_part(
    model: TwoTowerMatcher, whole: bool
) -> Callable[[PaddedBags], PaddedBags] | None:
    """Choose the text tower's fixed part, or None."""
    text = model.text

    def encode(inputs: PaddedBags) -> PaddedBags:
        bags: PaddedBags = text.eval()(text.precompute(inputs))
        return bags

    if whole:
        return encode
    return text.precompute if text.precomputes else None


def is_frozen(module: nn.Module) -> bool:
    """Return whether a module has parameters, all of them frozen."""
    learns = [parameter.requires_grad for parameter in module.parameters()]
    return bool(learns) and not any(learns)


def freeze(model: TwoTowerMatcher, prefixes: Sequence[str]) -> None:
    """Freeze parameters by prefixes of names; ValueError for unknown ones."""
    for prefix in prefixes:
        frozen = [p for name, p in model.named_parameters() if name.startswith(prefix)]
        if not frozen:
            raise ValueError(f"frozen: no parameter starts with {prefix!r}")
        for parameter in frozen:
            parameter.requires_grad_(False)
