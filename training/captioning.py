"""Training of a captioner, from a corpus to a checkpoint measured on val."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models import registry
from models.captioning import FIRST_WORD, UNKNOWN, Captioner
from models.decoding import END
from models.registry import Caption, Generation
from models.types import PaddedBags
from training import inheritance
from training.cache import Inputs, cached, file_digest
from training.data.captions import caption_words, vocabulary
from training.data.corpus import Corpus, Example
from training.evaluation.captioning import Bleu, bleu
from training.evaluation.embedding import pixels
from training.fitting import TELL_NOBODY, Teller, fit
from training.folder import Place, RunFolder
from training.loop import Measured, Part, Trainer, half_precision, shuffled
from training.optimization import Optimizer, Schedule
from training.preset import made, refuse_unknown
from training.progress import Progress, silent

PADDING = -1  # a target that is no word
DESCRIBED = 16  # photos described at once
BEAM = 5
PRESETS = "captioners"  # the folder of captioners' presets


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a captioner is trained: its model's name and options, without the words, and the rest.

    least_count: how often a word of the vocabulary comes in train, at least.
    """

    model: str
    options: Mapping[str, Any]
    optimizer: Optimizer
    schedule: Schedule
    label_smoothing: float = 0.0
    least_count: int = 5


def read(preset: str) -> Recipe:
    """The recipe of a preset in presets/captioners, or of a path that ends in .toml.

    LookupError where there is none, ValueError for an option that nothing knows.
    """
    path = inheritance.located(preset if preset.endswith(".toml") else f"{PRESETS}/{preset}")
    try:
        return parsed(inheritance.resolved(path))
    except (ValueError, LookupError) as wrong:
        raise ValueError(f"{path}: {wrong}") from wrong


def parsed(tables: Mapping[str, Any]) -> Recipe:
    """The recipe of a preset's tables."""
    refuse_unknown(tables, {"model", "objective", "optimizer", "schedule"}, "the preset")
    options = dict(tables.get("model", {}))
    name = options.pop("name", "")
    known = {one.name for one in fields(registry.find("captioners", name).Config)} - {"words"}
    refuse_unknown(options, known, "[model]")
    objective = tables.get("objective", {})
    refuse_unknown(objective, {"label_smoothing", "least_count"}, "[objective]")
    return Recipe(
        name,
        options,
        made(Optimizer, tables.get("optimizer", {}), "[optimizer]"),
        made(Schedule, tables.get("schedule", {}), "[schedule]"),
        **objective,
    )


@dataclass(frozen=True, slots=True)
class CaptionBatch:
    """K photos' frozen inputs (K, R, C), and N sentences: whose each is, given words, targets.

    owners are (N,), given and targets (N, T), padded.
    """

    photos: Tensor
    owners: Tensor
    given: Tensor
    targets: Tensor


@dataclass(frozen=True, slots=True)
class CaptionDataset:
    """The frozen inputs (R, C) of K photos, and each one's sentences as word indices (T,)."""

    photos: Sequence[Tensor]
    sentences: Sequence[Sequence[Tensor]]
    size: int  # photos in a batch

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return -(-len(self.sentences) // self.size)

    def batches(self, epoch: int) -> Iterable[CaptionBatch]:  # noqa: ARG002 - the order is drawn
        """All sentences of every photo once, photos in a new order."""
        return map(self.batch, shuffled(len(self.sentences), self.size))

    def batch(self, positions: Sequence[int]) -> CaptionBatch:
        """The sentences of some photos."""
        counts = torch.tensor([len(self.sentences[one]) for one in positions])
        given, targets = shifted([line for one in positions for line in self.sentences[one]])
        return CaptionBatch(
            photos=torch.stack([self.photos[one] for one in positions]),
            owners=torch.arange(len(positions)).repeat_interleave(counts),
            given=given,
            targets=targets,
        )


def train(
    corpus: Corpus,
    place: Place,
    recipe: Recipe,
    *,
    resume: bool = False,
    teller: Teller = TELL_NOBODY,
) -> Bleu:
    """Train on split train, write the checkpoint to `place.out`; its BLEU on split val with beam 5.

    The averaged weights of the last epoch are kept: val chooses nothing. The run's folder is beside
    the checkpoint; ValueError if it holds a run that is not to be resumed, or of other options.
    """
    folder = RunFolder.of_part(
        "captioners", recipe.model, corpus, place, {"recipe": asdict(recipe)}
    )
    folder.claim(resume)
    torch.manual_seed(place.seed)
    examples, validated = corpus.split("train"), corpus.split("val")
    words = vocabulary(corpus, recipe.least_count)
    model = built(recipe, words).to(place.device)
    dataset = CaptionDataset(
        frozen_inputs(model, examples, place, recipe.schedule.precision, teller.progress),
        word_indices(examples, words, model.config.longest),
        recipe.schedule.batch,
    )

    def validate() -> Measured:
        model.eval()
        inputs = frozen_inputs(model, validated, place, recipe.schedule.precision, teller.progress)
        score = measured(
            lambda part: model.describe(inputs[part], Generation(BEAM)), validated, teller.progress
        )
        return Measured({"beam": BEAM} | asdict(score))

    objective = partial(cross_entropy, model, recipe, place.device)
    part = Part(model, dataset, objective, validate, once=True)
    trainer = Trainer(part, recipe.optimizer, recipe.schedule, place.device)
    validation = fit(trainer, folder, teller, resume=resume)
    return Bleu(tuple(validation["scores"]), validation["length_ratio"])


def built(recipe: Recipe, words: tuple[str, ...]) -> Captioner:
    """A recipe's model with a vocabulary, its weights at random."""
    module = registry.find("captioners", recipe.model)
    model: Captioner = module.Model(module.Config(words=words, **recipe.options))
    return model


def evaluate(
    captioner: registry.Captioner,
    examples: Sequence[Example],
    beam: int = BEAM,
    progress: Progress = silent,
) -> Bleu:
    """BLEU of the best captions of a split's photos, by the same path that a service takes."""

    def described(part: slice) -> list[list[Caption]]:
        seen, _ = captioner.sight([pixels(one.image) for one in examples[part]])
        return captioner.describe(seen, Generation(beam))

    return measured(described, examples, progress)


def cross_entropy(
    model: Captioner,
    recipe: Recipe,
    device: str,
    batch: CaptionBatch,
    epoch: int,  # noqa: ARG001 - every epoch has the same loss
) -> Tensor:
    """The loss of a word of a batch, a scalar."""
    with half_precision(device, recipe.schedule.precision):
        predicted, targets = logits(model, batch, device)
    return F.cross_entropy(predicted.float(), targets, label_smoothing=recipe.label_smoothing)


def logits(model: Captioner, batch: CaptionBatch, device: str) -> tuple[Tensor, Tensor]:
    """Logits (W, V) of the W real words of a batch, ENDs among them, and the targets (W,)."""
    language = model.language
    photos = PaddedBags.of(list(batch.photos)).to(device)
    given, targets = batch.given.to(device), batch.targets.to(device)  # (N, T) each
    # Features are read once a photo, not once a sentence.
    owners = batch.owners.to(device)
    state = tuple(part[owners] for part in language.look(photos))
    output, state = language(given, state)  # (N, T, E)
    real = targets != PADDING
    return language.logits(output, state)[real], targets[real]


def shifted(sentences: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The words that a model is given and its targets, (N, T + 1) each, padded.

    The given ones start with END and the targets end with it, as in decoding.
    """
    end = torch.tensor([END])
    given = pad_sequence([torch.cat([end, line]) for line in sentences], True, END)
    targets = pad_sequence([torch.cat([line, end]) for line in sentences], True, PADDING)
    return given, targets


def word_indices(
    examples: Sequence[Example], words: Sequence[str], longest: int
) -> list[list[Tensor]]:
    """Each example's sentences as word indices (T,), cut to the longest length of a caption."""
    numbers = {word: number for number, word in enumerate(words, FIRST_WORD)}

    def indices(text: str) -> Tensor:
        caption = caption_words(text)[:longest]
        return torch.tensor([numbers.get(word, UNKNOWN) for word in caption], dtype=torch.long)

    return [[indices(text) for text in example.sentences] for example in examples]


def frozen_inputs(
    model: Captioner,
    examples: Sequence[Example],
    place: Place,
    precision: str,
    progress: Progress,
) -> Inputs:
    """The sight's features (F, C) of every photo, from the cache or computed into it.

    Those that a matcher of the same sight and precision left there are found.
    """

    def features(paths: Sequence[Path]) -> list[Tensor]:
        with half_precision(place.device, precision):
            inputs: list[Tensor] = model.sight([pixels(path) for path in paths])[0]
        return inputs

    return cached(
        place.cache / "images",
        f"{precision} {model.sight.key()}",
        [example.image for example in examples],
        [file_digest(example.image) for example in examples],
        features,
        progress,
        "photos",
    )


def measured(
    describe: Callable[[slice], list[list[Caption]]],
    examples: Sequence[Example],
    progress: Progress,
) -> Bleu:
    """BLEU of the best caption that `describe` has for each of a slice of the examples."""
    starts = range(0, len(examples), DESCRIBED)
    captions = [
        best[0].text
        for at in progress(starts, len(starts), "captions")
        for best in describe(slice(at, at + DESCRIBED))
    ]
    return bleu(captions, [example.sentences for example in examples])
