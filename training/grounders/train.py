"""Training of a grounder, with true boxes or without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from models.grounders import two_branch
from models.scores.correlation import Correlation
from training.data.corpus import Corpus, Example
from training.data.digests import digest, file_digest
from training.data.entities import GroundedSentence, GroundTruth, digest_truth, phrase_boxes
from training.evaluation.embedding import read_photos
from training.evaluation.localisation import Localisation, LocatedPhrase, localisation
from training.grounders import correlation
from training.grounders.objectives import PhraseMatch, supervised_loss, weak_loss
from training.grounders.preset import GrounderPreset, Supervision, Weak
from training.runs.cache import Inputs, load_or_compute
from training.runs.folder import SILENT, Reporter, RunFolder, RunPlace, fit
from training.runs.loop import Trainer, TrainingTask, ValidationResult, shuffle
from training.runs.precision import half_precision
from training.runs.progress import Progress

PHRASES = 6  # of each photo in a step


@dataclass(frozen=True, slots=True)
class PhraseBatch:
    """Inputs of K photos' regions (K, R, C + 4) and P phrases (P, 768).

    owners (P,) is the photo of each phrase, words (P,) a number for its text, truth (P, 4) its box.
    """

    regions: Tensor
    phrases: Tensor
    owners: Tensor
    words: Tensor
    truth: Tensor


@dataclass(frozen=True, slots=True)
class PhraseDataset:
    """Photos' regions (R, C + 4), phrases (P, 768), their boxes (P, 4) and texts."""

    regions: Sequence[Tensor]
    phrases: Sequence[Tensor]
    truth: Sequence[Tensor]
    sentences: Sequence[Sequence[GroundedSentence]]
    size: int = 1  # photos in a batch

    def __len__(self) -> int:
        return len(self.regions)

    @property
    def steps(self) -> int:
        """The number of batches of an epoch."""
        return -(-len(self) // self.size)

    def batches(self, epoch: int) -> Iterable[PhraseBatch]:  # noqa: ARG002 - the order is drawn
        """Some phrases of every photo, photos in a new order."""
        return map(self.batch, shuffle(len(self), self.size))

    def batch(self, photos: Sequence[int]) -> PhraseBatch:
        """Draw up to PHRASES phrases of each photo, with all its regions."""
        chosen = [torch.randperm(len(self.truth[photo]))[:PHRASES] for photo in photos]
        pairs = list(zip(photos, chosen, strict=True))
        texts = [self.texts(photo)[at] for photo, indices in pairs for at in indices.tolist()]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        counts = torch.tensor([len(indices) for indices in chosen])
        return PhraseBatch(
            regions=torch.stack([self.regions[photo] for photo in photos]),
            phrases=torch.cat([self.phrases[photo][indices] for photo, indices in pairs]),
            owners=torch.arange(len(photos)).repeat_interleave(counts),
            words=torch.tensor([numbers[text] for text in texts]),
            truth=torch.cat([self.truth[photo][indices] for photo, indices in pairs]),
        )

    def texts(self, photo: int) -> list[str]:
        """A photo's phrases in lower case."""
        return [
            phrase.text.lower() for sentence in self.sentences[photo] for phrase in sentence.phrases
        ]


def train(
    corpus: Corpus,
    truth: GroundTruth,
    place: RunPlace,
    preset: GrounderPreset,
    *,
    resume: bool = False,
    reporter: Reporter = SILENT,
) -> Localisation:
    """Train on split train, write the checkpoint to `place.out`, localise on val.

    The last epoch's weights are stored: val chooses nothing. `truth` tells the phrases of
    sentences; their boxes are used under full supervision alone. The run's folder is next to the
    checkpoint. ValueError if it holds a run that is not to be resumed, or of other options.
    """
    facts = {"recipe": asdict(preset), "boxes": digest_truth(truth)}
    folder = RunFolder.of("grounders", "two_branch", corpus, place, facts)
    folder.claim(resume)
    torch.manual_seed(place.seed)
    model = two_branch.Model(two_branch.Config(**preset.options)).to(place.device)
    dataset, val = (
        make_dataset(model, corpus.split(split), truth, place.cache, reporter.progress)
        for split in ("train", "val")
    )
    dataset = replace(dataset, size=preset.schedule.batch)
    model.prepare(dataset.regions)
    if isinstance(preset.objective, Correlation) and not (resume and folder.resumable):
        correlation.solve(model, pair_regions(model, dataset, place.device), preset.objective)
    part = TrainingTask(
        model,
        dataset,
        partial(compute_loss, model, preset, place.device),
        lambda: ValidationResult(asdict(measure(model.eval(), val, place.device))),
        once=True,
    )
    trainer = Trainer(part, preset.optimizer, preset.schedule, place.device)
    return Localisation(**fit(trainer, folder, reporter, resume=resume))


def pair_regions(
    model: two_branch.Model, dataset: PhraseDataset, device: str
) -> Iterator[tuple[Tensor, Tensor]]:
    """Give the features of paired regions (N, C) and phrases (N, C')."""
    taken: Counter[str] = Counter()
    for photo in range(len(dataset)):
        inputs, phrases = dataset.regions[photo].to(device), dataset.phrases[photo].to(device)
        truth, texts = dataset.truth[photo].to(device), dataset.texts(photo)
        regions, chosen = correlation.pair_boxes(inputs[:, -4:].float(), truth, texts, taken)
        yield model.region_features(inputs)[regions], model.phrase_features(phrases)[chosen]


def make_dataset(
    model: two_branch.Model,
    examples: Sequence[Example],
    truth: GroundTruth,
    folder: Path,
    progress: Progress,
) -> PhraseDataset:
    """Make the dataset of photos with phrases, through the cache."""
    chosen = [
        example
        for example in examples
        if any(sentence.phrases for sentence in truth.get(example.image.name, ()))
    ]
    sentences = [
        [sentence for sentence in truth[example.image.name] if sentence.phrases]
        for example in chosen
    ]
    return PhraseDataset(
        compute_regions(model, chosen, folder, progress),
        compute_phrases(model, sentences, folder, progress),
        [phrase_boxes(photo_sentences) for photo_sentences in sentences],
        sentences,
    )


def compute_regions(
    model: two_branch.Model, examples: Sequence[Example], folder: Path, progress: Progress
) -> Inputs:
    """Compute the inputs (R, C + 4) of photos' regions, through the cache."""
    device = str(next(model.parameters()).device)

    def image_inputs(paths: Sequence[Path]) -> list[Tensor]:
        with half_precision(device, "bfloat16"):
            return model.image_inputs(read_photos(paths))

    paths = [example.image for example in examples]
    return load_or_compute(
        folder / "images",
        f"bfloat16 {model.image_key()}",
        paths,
        [file_digest(path) for path in paths],
        image_inputs,
        progress,
        "features of photos",
    )


def compute_phrases(
    model: two_branch.Model,
    sentences: Sequence[Sequence[GroundedSentence]],
    folder: Path,
    progress: Progress,
) -> Inputs:
    """Compute the inputs (P, 768) of photos' phrases, through the cache."""
    device = str(next(model.parameters()).device)

    def phrase_inputs(photos: Sequence[Sequence[GroundedSentence]]) -> list[Tensor]:
        grounded = [sentence for photo in photos for sentence in photo]
        spans = [[phrase.span for phrase in sentence.phrases] for sentence in grounded]
        with half_precision(device, "bfloat16"):
            inputs = iter(model.phrase_inputs([sentence.text for sentence in grounded], spans))
        return [torch.cat(list(islice(inputs, len(photo)))) for photo in photos]

    return load_or_compute(
        folder / "sentences",
        "bfloat16 phrases",
        sentences,
        [digest(*map(describe_phrases, photo_sentences)) for photo_sentences in sentences],
        phrase_inputs,
        progress,
        "phrases",
    )


def describe_phrases(sentence: GroundedSentence) -> str:
    """Describe a sentence's text and its phrases' places, for a digest."""
    return repr((sentence.text, [phrase.span for phrase in sentence.phrases]))


def compute_loss(
    model: two_branch.Model, preset: GrounderPreset, device: str, batch: PhraseBatch, epoch: int
) -> Tensor:
    """Compute the loss of a batch, a scalar.

    With true boxes or without.
    """
    embedded, options = embed(model, batch, device), preset.objective
    if isinstance(options, Weak):
        preference = model.preference(batch.regions.shape[1])
        return weak_loss(embedded, preference, options.temperature, options.sharpness)
    assert isinstance(options, Supervision)
    mined = epoch > preset.schedule.epochs - options.mined
    structure = options.lambda_1, options.lambda_2, options.lambda_3
    mining = options.mining if mined else 0.0
    return supervised_loss(embedded, options.margin, options.top, mining, *structure)


def embed(model: two_branch.Model, batch: PhraseBatch, device: str) -> PhraseMatch:
    """A batch's regions and phrases in the joint space."""
    regions = batch.regions.to(device)
    return PhraseMatch(
        regions=model.embed_regions(regions),
        phrases=model.embed_phrases(batch.phrases.to(device)),
        owners=batch.owners.to(device),
        words=batch.words.to(device),
        truth=batch.truth.to(device),
        boxes=regions[..., -4:],
    )


@torch.inference_mode()
def measure(model: two_branch.Model, dataset: PhraseDataset, device: str) -> Localisation:
    """Measure a model's localisation of photos' phrases."""
    localised = []
    for photo in range(len(dataset)):
        inputs = dataset.regions[photo].to(device)
        regions = model.embed_regions(inputs[None])[0]
        phrases = model.embed_phrases(dataset.phrases[photo].to(device))
        scores = model.similarities(regions, phrases).cpu()
        photo_phrases = [
            phrase for sentence in dataset.sentences[photo] for phrase in sentence.phrases
        ]
        localised += [
            LocatedPhrase(phrase.text, phrase.boxes, inputs[:, -4:].cpu(), phrase_scores)
            for phrase, phrase_scores in zip(photo_phrases, scores, strict=True)
        ]
    return localisation(localised)
