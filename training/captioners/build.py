"""Captioners before training, and their datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from models import checkpoint, registry
from models.captioners.attentive import Attentive, Model
from models.captions.captioning import FIRST_WORD, LanguageCaptioner
from models.matcher import TwoTowerMatcher
from models.shipped import PRETRAINED
from training.captioners import text_vectors
from training.captioners.batches import Batches, CaptionDataset, MixedDataset, word_indices
from training.captioners.preset import CaptionerPreset, TextOptions
from training.captioners.vocabulary import count_words, vocabulary
from training.data.corpus import Example
from training.runs.folder import RunPlace
from training.runs.loop import Dataset
from training.runs.progress import Progress


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Photos' frozen inputs (F, C), their examples, and sentences without photos."""

    inputs: Sequence[Tensor]
    examples: Sequence[Example]
    sentences: Sequence[str]
    place: RunPlace
    progress: Progress


def build(
    preset: CaptionerPreset, sentences: Sequence[str], start: Path | None
) -> LanguageCaptioner:
    """Build a preset's model with a vocabulary, or load it trained.

    ValueError for a start of another model.
    """
    if start:
        loaded = checkpoint.load(start)
        if (loaded.kind, loaded.name) != ("captioners", preset.model):
            raise ValueError(
                f"{start} is {loaded.name}, one of the {loaded.kind}; the preset goes on with the "
                f"captioner {preset.model}"
            )
        trained: LanguageCaptioner = loaded.model
        if isinstance(trained, Model) and preset.text and not preset.reward:
            return change_tower(trained, load_teacher(preset.text).model)
        return trained
    module, words = (
        registry.find("captioners", preset.model),
        vocabulary(sentences, preset.least_count),
    )
    text_options: dict[str, Any] = {}
    if preset.text:
        image = load_teacher(preset.text).model.config.image
        text_options = {"image": image, "joint": image.options.embedding}
    model: LanguageCaptioner = module.Model(
        module.Config(words=words, **preset.options, **text_options)
    )
    return model


def change_tower(captioner: Model, matcher: TwoTowerMatcher) -> Model:
    """Copy a captioner with a matcher's networks and tower.

    It sees photos as the matcher does. Its tower's weights are still to be taken. ValueError for
    other views or another joint space: what the captioner learned about photos would mean nothing
    there.
    """
    config, image = captioner.config, matcher.config.image
    before, now = config.image.options, image.options
    if (before.views, config.joint) != (now.views, now.embedding):
        raise ValueError(
            f"the captioner sees {', '.join(before.views)} in {config.joint} numbers, the matcher "
            f"{', '.join(now.views)} in {now.embedding}: go on with a matcher of the same views "
            "and size, or train without --start"
        )
    model = Model(replace(config, image=image))
    weights = captioner.state_dict().items()
    words = {k: w for k, w in weights if not k.startswith("sight.") and ".tower." not in k}
    sight = {f"sight.{key}": weight for key, weight in matcher.sight.state_dict().items()}
    missing, _ = model.load_state_dict(words | sight, strict=False)
    assert all(".tower." in name for name in missing), missing
    return model


def make_dataset(
    model: LanguageCaptioner, preset: CaptionerPreset, data: TrainingData
) -> Dataset[Batches]:
    """Make the dataset of a model, and prepare a new model.

    A new model learns from the dataset's inputs first. One that goes on without a reward sees by
    the preset's matcher from now on, which may be newer than its own.

    ValueError for text with a model that does not take sentences instead of photos.
    """
    config, place = model.config, data.place
    indices = [
        word_indices(example.sentences, config.words, config.longest) for example in data.examples
    ]
    photos = CaptionDataset(data.inputs, indices, preset.schedule.batch)
    if not place.start:
        model.language.begin(count_words(indices, len(config.words) + FIRST_WORD))
    if preset.text is None:
        return photos
    if not isinstance(model.language, Attentive):
        raise ValueError(f"[text] needs a model that takes sentences, and {preset.model} does not")
    loaded = load_teacher(preset.text)
    vectors = text_vectors.embed_texts(
        loaded, data.sentences, place.cache, preset.schedule.precision, data.progress
    )
    if not preset.reward:
        model.language.see_by(loaded.model, data.inputs, indices, vectors)
        if not place.start:
            model.language.begin_words()
    texts = word_indices(data.sentences, config.words, config.longest)
    epochs = 0 if preset.reward else preset.text.epochs
    return MixedDataset(photos, vectors, texts, epochs, preset.text.alone, preset.text.beside)


def load_teacher(options: TextOptions) -> checkpoint.Checkpoint:
    """Load the matcher of sentences' vectors, used for photos."""
    return checkpoint.load(PRETRAINED / f"{options.matcher}.safetensors")
