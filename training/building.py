"""What a preset's model is before it is trained: made for its data, or from another's weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from torch import nn

from models import registry
from models.checkpoint import Checkpoint
from models.parsing import parser_key
from training.data.corpus import Example
from training.data.vocabulary import frequencies, relations, vocabulary
from training.matching import TrainableMatcher
from training.preset import Preset


def built(
    preset: Preset, examples: Sequence[Example], start: Checkpoint | None = None
) -> nn.Module:
    """The preset's model; the fields that its Config says are learned come from the examples.

    With a checkpoint to start from they are that one's, as all weights are; ValueError if these
    do not fit the preset.
    """
    module = registry.find("matchers", preset.model)
    given = preset.config | (inherited(preset, start) if start else {})
    config = module.Config(**given)
    makers: dict[str, Callable[[Sequence[Example]], Any]] = {
        "words": vocabulary,
        "frequencies": frequencies,
        "relations": relations,
        "parser": lambda _: parser_key(),
    }
    wanted = set(getattr(config, "learned", ())) - given.keys()
    model: nn.Module = module.Model(
        replace(config, **{one: makers[one](examples) for one in wanted})
    )
    if start:
        begin(model, start.model)
    return model


def inherited(preset: Preset, start: Checkpoint) -> dict[str, Any]:
    """What a checkpoint's Config learned and the preset does not name; ValueError for another's."""
    if (start.kind, start.name) != ("matchers", preset.model):
        raise ValueError(
            f"the preset trains matchers/{preset.model} and cannot start from "
            f"{start.kind}/{start.name}"
        )
    config = start.model.config
    known = {one: getattr(config, one) for one in getattr(config, "learned", ())}
    return {one: it for one, it in known.items() if it and one not in preset.config}


def begin(model: nn.Module, start: nn.Module) -> None:
    """Give a model another's weights; ValueError where these mean something else."""
    one, other = cast(TrainableMatcher, model), cast(TrainableMatcher, start)
    for what in ("image_key", "sentence_key"):
        wanted, found = getattr(one, what)(), getattr(other, what)()
        if wanted != found:
            raise ValueError(f"the preset sees {wanted}, the checkpoint to start from {found}")
    if other.tuned and not one.tuned:
        raise ValueError(
            "the checkpoint to start from has a CNN of its own: set tuned = true in [model]"
        )
    try:
        model.load_state_dict(start.state_dict())
    except RuntimeError as unlike:
        raise ValueError(f"the checkpoint's weights do not fit the preset: {unlike}") from unlike
