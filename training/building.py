"""Models before training: made for their data, or from another model's weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from models import registry
from models.checkpoint import Checkpoint
from models.matcher import Matcher, Part
from models.parsing import parser_key
from training.data.corpus import Example
from training.data.vocabulary import frequencies, relations, vocabulary
from training.preset import Preset

LEARN: dict[str, Callable[[Sequence[Example]], Any]] = {
    "words": vocabulary,
    "frequencies": frequencies,
    "relations": relations,
    "parser": lambda _: parser_key(),
}


def built(preset: Preset, examples: Sequence[Example], start: Checkpoint | None = None) -> Matcher:
    """The preset's model; what its text tower learns from sentences comes from the examples.

    With a checkpoint to start from it is that one's, as all weights are; ValueError if these do
    not fit the preset.
    """
    start_values = {}
    if start:
        refuse_other_towers(preset, start)
        start_values = {
            name: value for name, value in fields_to_learn(start.model.config.text) if value
        }
    missing = [name for name, value in fields_to_learn(preset.model.text) if not value]
    values = {
        name: start_values[name] if name in start_values else LEARN[name](examples)
        for name in missing
    }
    text = replace(preset.model.text, options=replace(preset.model.text.options, **values))
    model = Matcher(replace(preset.model, text=text))
    if start:
        begin(model, start.model)
    return model


def fields_to_learn(text: Part) -> list[tuple[str, Any]]:
    """The fields of a text tower's Config that train's sentences fill, and their values."""
    return [(name, getattr(text.options, name)) for name in getattr(text.options, "learned", ())]


def refuse_other_towers(preset: Preset, start: Checkpoint) -> None:
    """ValueError unless a checkpoint is a matcher of the preset's towers, without terms."""
    if getattr(start.model, "terms", None) is not None:
        raise ValueError("the checkpoint to start from has terms already: start from a general one")
    matcher = start.kind == registry.MATCHERS
    if not matcher or start.model.config.towers != preset.model.towers:
        trained = f"towers {start.model.config.towers}" if matcher else start.kind
        raise ValueError(
            f"the preset trains towers {preset.model.towers} and cannot start from {trained}"
        )


def begin(model: Matcher, start: Matcher) -> None:
    """Give a model another's weights; ValueError where these mean something else."""
    for method in ("image_key", "sentence_key"):
        expected, actual = getattr(model, method)(), getattr(start, method)()
        if expected != actual:
            raise ValueError(f"the preset sees {expected}, the checkpoint to start from {actual}")
    if start.tuned and not model.tuned:
        raise ValueError(
            "the checkpoint to start from has a CNN of its own: set tuned = true in [model.image]"
        )
    try:
        model.load_state_dict(start.state_dict())
    except RuntimeError as unlike:
        raise ValueError(f"the checkpoint's weights do not fit the preset: {unlike}") from unlike
