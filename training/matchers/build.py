"""Models before training: made for their data, or from another model's weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import torch

from models import registry
from models.checkpoint import Checkpoint
from models.matcher import Config, TowerOptions, TwoTowerMatcher
from models.text.parsing import parser_key
from training.data.corpus import Example
from training.data.vocabulary import frequencies, relations, vocabulary
from training.matchers.preset import Preset

LEARN: dict[str, Callable[[Sequence[Example]], Any]] = {
    "words": vocabulary,
    "frequencies": frequencies,
    "relations": relations,
    "parser": lambda _: parser_key(),
}
LONGEST = 80  # characters of an option's value in a message


def build(
    preset: Preset, examples: Sequence[Example], start: Checkpoint | None = None
) -> TwoTowerMatcher:
    """Build a preset's model; its text tower learns words from the examples.

    With a start, its learned words and all its weights are taken. ValueError if they do not fit the
    preset.
    """
    config = preset.model
    if start:
        refuse_other_towers(preset, start)
        config = complete(config, start.model.config)
    learned = {name: LEARN[name](examples) for name in list_unset(config.text, "learned")}
    model = TwoTowerMatcher(replace(config, text=replace_options(config.text, learned)))
    if start:
        begin(model, start.model)
    return model


def complete(preset: Config, start: Config) -> Config:
    """Complete a preset's missing options by the checkpoint's.

    These are words learned from train, and sizes that an average gave to vectors.
    """

    def side(part: TowerOptions, trained: TowerOptions) -> TowerOptions:
        names = [*list_unset(part, "learned"), *list_unset(part, "reshaped")]
        return replace_options(part, {name: getattr(trained.options, name) for name in names})

    image, text = side(preset.image, start.image), side(preset.text, start.text)
    return replace(preset, image=image, text=text)


def list_unset(part: TowerOptions, kind: str) -> list[str]:
    """List unset options of one `kind` with defaults.

    They are of a tower's Config.
    """
    defaults = {field.name: field.default for field in fields(part.options)}
    names = getattr(part.options, kind, ())
    return [name for name in names if getattr(part.options, name) == defaults[name]]


def replace_options(part: TowerOptions, values: Mapping[str, Any]) -> TowerOptions:
    """A tower with other values of some options."""
    return replace(part, options=replace(part.options, **values))


def refuse_other_towers(preset: Preset, start: Checkpoint) -> None:
    """Raise ValueError unless a checkpoint has the preset's towers, and no terms."""
    if getattr(start.model, "terms", None) is not None:
        raise ValueError("the checkpoint to start from has terms already: start from a general one")
    matcher = start.kind == registry.MATCHERS
    if not matcher or start.model.config.towers != preset.model.towers:
        trained = f"towers {start.model.config.towers}" if matcher else f"one of the {start.kind}"
        raise ValueError(
            f"the preset trains towers {preset.model.towers} and cannot start from {trained}"
        )


def begin(model: TwoTowerMatcher, start: TwoTowerMatcher) -> None:
    """Give a model another's weights; ValueError for other meanings.

    They include the networks and proposals that no package brings, so that the model sees as in
    their training, even if others ship by now. A model with another number of references than the
    checkpoint measures its own.
    """
    if start.tuned and not model.tuned:
        raise ValueError(
            "the checkpoint to start from has a CNN of its own: set tuned = true in [model.image]"
        )
    fits = list_shapes(model) == list_shapes(start)
    if fits:
        sizes = {name: weight.shape for name, weight in model.state_dict().items()}
        state = start.state_dict().items()
        weights = {name: weight for name, weight in state if sizes.get(name) == weight.shape}
        model.load_state_dict(weights, strict=False)
    if not fits or input_keys(model) != input_keys(start):
        raise ValueError(
            "the preset does not fit the checkpoint to start from: "
            f"{describe_differences(model.config, start.config)}. Give the options of the "
            "checkpoint in a preset that extends this one"
        )


def list_shapes(model: TwoTowerMatcher) -> dict[str, torch.Size]:
    """List the shapes of a matcher's weights, without its offsets' references."""
    return {
        name: weight.shape
        for name, weight in model.state_dict().items()
        if not name.startswith("offsets.")
    }


def input_keys(model: TwoTowerMatcher) -> tuple[str, str]:
    """Return the keys of a matcher's frozen inputs."""
    return model.image_key(), model.sentence_key()


def describe_differences(preset: Config, start: Config) -> str:
    """Describe the different options of a preset and a checkpoint."""
    start_options = list_options(start)
    return "; ".join(
        f"{name} is {shorten(value)}, in the checkpoint {shorten(start_options[name])}"
        for name, value in list_options(preset).items()
        if value != start_options[name]
    )


def list_options(config: Config) -> dict[str, Any]:
    """List a matcher's options by their names in [model], such as image.views."""
    table = asdict(config)
    sides = {side: table.pop(side)["options"] for side in ("image", "text")}
    return table | {f"{side}.{name}": sides[side][name] for side in sides for name in sides[side]}


def shorten(value: Any) -> str:
    """Write a value as in TOML, cut off if long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
