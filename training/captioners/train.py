"""Training of a captioner, from a corpus to a measured checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from models import header
from models.captions.captioning import LanguageCaptioner
from models.registry import BEAM, Caption, Generation
from models.towers import ImageTower
from training.captioners import build as building
from training.captioners import text_vectors
from training.captioners.batches import Batches
from training.captioners.objectives import CrossEntropy, SelfCritical
from training.captioners.preset import CaptionerPreset
from training.captioners.snippets import describe_by_snippets
from training.data.corpus import Corpus, Example
from training.data.digests import file_digest
from training.evaluation.captions.bleu import bleu
from training.evaluation.captions.cider import cider
from training.evaluation.captions.treebank import treebank_words
from training.evaluation.embedding import read_photos
from training.runs.cache import Inputs, load_or_compute
from training.runs.folder import SILENT, Reporter, RunFolder, RunPlace, fit
from training.runs.loop import Trainer, TrainingTask, ValidationResult
from training.runs.precision import half_precision
from training.runs.progress import Progress

DESCRIBED = 16  # photos described at once


@dataclass(frozen=True, slots=True)
class CaptionScores:
    """Captions against sentences, in percent: BLEU-1 to 4, CIDEr-D as papers print it."""

    bleu: tuple[float, ...]
    length_ratio: float
    cider: float


def train(
    corpus: Corpus,
    place: RunPlace,
    preset: CaptionerPreset,
    *,
    text: Path | None = None,
    resume: bool = False,
    reporter: Reporter = SILENT,
) -> CaptionScores:
    """Train on split train, write the checkpoint to `place.out`, measure on val.

    Photos without sentences are left out. `text` is a file of sentences without photos, for a
    preset with [text]. The averaged weights of the last epoch are stored: val chooses nothing. The
    run's folder is next to the checkpoint. ValueError if it holds a run that is not to be resumed,
    or of other options.
    """
    folder = open_folder(corpus, place, preset, text)
    torch.manual_seed(place.seed)
    sentences = text_vectors.gather_sentences(corpus, preset.text, text)
    model = building.build(preset, sentences, place.start).to(place.device)
    folder.claim(resume)
    folder.restore(model)
    (inputs, examples), (val_inputs, val_examples) = (
        gather_inputs(model, preset, corpus.list_described(split), place, reporter.progress)
        for split in ("train", "val")
    )
    data = building.TrainingData(inputs, examples, sentences, place, reporter.progress)
    dataset = building.make_dataset(model, preset, data)
    validate = partial(validate_captions, model, val_inputs, val_examples, reporter.progress)
    objective = make_objective(model, preset, examples, place.device)
    task = TrainingTask(model, dataset, objective, validate, once=True)
    trainer = Trainer(task, preset.optimizer, preset.schedule, place.device)
    validation = fit(trainer, folder, reporter, resume=resume)
    return CaptionScores(tuple(validation["bleu"]), validation["length_ratio"], validation["cider"])


def open_folder(
    corpus: Corpus, place: RunPlace, preset: CaptionerPreset, text: Path | None
) -> RunFolder:
    """Name the run's folder; ValueError for a conflict of options."""
    if (preset.reward or preset.continues) and not place.start:
        raise ValueError("the preset goes on with a trained captioner: give one by --start")
    if text and not preset.text:
        raise ValueError("--text is for presets with [text]: leave it out, or choose another")
    recipe = asdict(preset)
    del recipe["continues"]  # it only asks for a start, which is a fact itself
    facts = {
        "recipe": recipe,
        "start": header.fingerprint(place.start) if place.start else None,
        "text": file_digest(text) if text else None,
    }
    return RunFolder.of("captioners", preset.model, corpus, place, facts)


def validate_captions(
    model: LanguageCaptioner,
    inputs: Sequence[Tensor],
    examples: Sequence[Example],
    progress: Progress,
) -> ValidationResult:
    """Measure a model's captions of val; it is left in evaluation mode."""
    model.eval()
    score = measure_captions(
        lambda part: model.describe(inputs[part], Generation()), examples, progress
    )
    return ValidationResult({"beam": BEAM} | asdict(score))


def make_objective(
    model: LanguageCaptioner, preset: CaptionerPreset, examples: Sequence[Example], device: str
) -> Callable[[Batches, int], Tensor]:
    """Make the objective of a preset."""
    truth = CrossEntropy(
        model,
        device,
        preset.schedule.precision,
        preset.label_smoothing,
        preset.text.weight if preset.text else 1.0,
    )
    if preset.reward is None:
        return truth
    return SelfCritical(truth, [example.sentences for example in examples], preset.reward.samples)


def gather_inputs(
    model: LanguageCaptioner,
    preset: CaptionerPreset,
    examples: Sequence[Example],
    place: RunPlace,
    progress: Progress,
) -> tuple[Sequence[Tensor], Sequence[Example]]:
    """Gather the frozen inputs (F, C) to describe, and their examples.

    They are a split's photos, or with `snippets` its regions with snippets.
    """
    inputs = frozen_inputs(model, examples, place, preset.schedule.precision, progress)
    if preset.snippets is None:
        return inputs, examples
    return describe_by_snippets(
        model.sight, examples, inputs, preset.snippets, place.cache, progress
    )


def frozen_inputs(
    model: LanguageCaptioner | ImageTower,
    examples: Sequence[Example],
    place: RunPlace,
    precision: str,
    progress: Progress,
) -> Inputs:
    """Return the sight's features (F, C) of every photo, through the cache.

    A matcher of the same sight and precision shares the cache.
    """

    def features(paths: Sequence[Path]) -> list[Tensor]:
        with half_precision(place.device, precision):
            inputs: list[Tensor] = model.sight(read_photos(paths))[0]
        return inputs

    return load_or_compute(
        place.cache / "images",
        f"{precision} {model.sight.key()}",
        [example.image for example in examples],
        [file_digest(example.image) for example in examples],
        features,
        progress,
        "features of photos",
    )


def measure_captions(
    describe: Callable[[slice], list[list[Caption]]],
    examples: Sequence[Example],
    progress: Progress,
) -> CaptionScores:
    """Measure the best captions by `describe`, in slices of examples."""
    starts = range(0, len(examples), DESCRIBED)
    captions = [
        best[0].text
        for at in progress(starts, len(starts), "captions")
        for best in describe(slice(at, at + DESCRIBED))
    ]
    references = [example.sentences for example in examples]
    agreement = bleu(captions, references)
    consensus = cider(
        [treebank_words(text) for text in captions],
        [[treebank_words(text) for text in sentences] for sentences in references],
    )
    return CaptionScores(agreement.scores, agreement.length_ratio, consensus)
