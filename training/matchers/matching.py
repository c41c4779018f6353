"""Matchers in training: pairs, objectives, validation by retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import accumulate

import torch
from torch import Tensor

from models.matcher import TwoTowerMatcher
from models.scores.scoring import SCORES, products
from models.text import classes
from models.types import PaddedBags
from training.data.batches import ALL, Batch, LabelBatch, Sampling, batches, count_batches
from training.data.truth import PairTruth
from training.evaluation.retrieval import Retrieval, rank_pairs, retrieval
from training.evaluation.score_matrix import measure_similarity, score_matrix
from training.matchers.label_pairs import LabelPairs
from training.matchers.objectives import LabelMatch, Match
from training.runs import workers
from training.runs.cache import Repeated, take
from training.runs.loop import Loss, ValidationResult
from training.runs.optimization import Schedule
from training.runs.precision import half_precision

Objective = Callable[[Match, int], Loss]  # of a batch, in an epoch counted from 1
TeacherScores = Callable[[Batch], Tensor]  # teachers' scores of a batch, (K, L)
ENCODED = 128  # bags in a batch of validation


@dataclass(frozen=True, slots=True)
class Pairs:
    """A split's frozen inputs: counts[0] sentences of images[0], then others.

    `truth` tells which images answer a sentence; without it each sentence has one. kinds[k] is the
    kind of image k, for a sampling by kinds. `fixed` and `fixed_images` tell whether inputs passed
    their tower's fixed part, and `encoded` that sentences passed the whole of a tower that does not
    learn. mirrored[k] are the inputs of image k with left and right changed, if half of a batch's
    images are learned so. `labels` are texts of images with complete labels, and labelled[k] tells
    whether image k has such labels.
    """

    images: Sequence[Tensor]
    sentences: Sequence[Tensor]
    counts: tuple[int, ...]
    truth: PairTruth | None = None
    kinds: tuple[str, ...] = ()
    fixed: bool = False
    fixed_images: bool = False
    encoded: bool = False
    mirrored: Sequence[Tensor] | None = None
    labels: LabelPairs | None = None
    labelled: tuple[bool, ...] = ()

    def draw_inputs(self, images: Sequence[int]) -> list[Tensor]:
        """Draw the inputs of a batch's images, mirrored with probability ½."""
        inputs = take(self.images, images)
        if self.mirrored is None:
            return inputs
        flipped = torch.rand(len(images)) < 0.5
        places = [place for place, mirrored in enumerate(flipped.tolist()) if mirrored]
        mirrored_inputs = take(self.mirrored, [images[place] for place in places])
        for place, mirrored_input in zip(places, mirrored_inputs, strict=True):
            inputs[place] = mirrored_input
        return inputs

    @property
    def owners(self) -> list[int]:
        """The image of each sentence."""
        return [image for image, count in enumerate(self.counts) for _ in range(count)]

    def at(self, images: Sequence[int]) -> Pairs:
        """Select images with their sentences, one sentence an image."""
        starts = [0, *accumulate(self.counts)]
        sentences = [place for k in images for place in range(starts[k], starts[k + 1])]
        return Pairs(
            Repeated(self.images, images),
            Repeated(self.sentences, sentences),
            tuple(self.counts[k] for k in images),
            mirrored=None if self.mirrored is None else Repeated(self.mirrored, images),
        )


@dataclass(frozen=True, slots=True)
class SplitBags:
    """The bags (F, D) of a split's images and sentences."""

    images: list[Tensor]
    sentences: list[Tensor]


@dataclass(frozen=True, slots=True)
class PairDataset:
    """A split's pairs in batches; their order depends on seed and epoch alone."""

    pairs: Pairs
    schedule: Schedule
    seed: int = 0
    sampling: Sampling = ALL

    @property
    def steps(self) -> int:
        """The number of batches of an epoch."""
        return count_batches(
            self.pairs.counts, self.schedule.batch, self.schedule.sentences, self.sampling
        )

    def batches(self, epoch: int) -> Iterable[Batch]:
        """Every pair of an epoch once."""
        size, sentences = self.schedule.batch, self.schedule.sentences
        counts, kinds, labels = self.pairs.counts, self.pairs.kinds, self.pairs.labels
        drawn = batches(counts, size, self.seed, epoch - 1, sentences, self.sampling, kinds)
        if labels is None:
            return drawn
        of_labels = labels.draw(self.seed, epoch - 1)
        return (replace(batch, labels=next(of_labels)) for batch in drawn)


@dataclass(frozen=True, slots=True)
class MatchObjective:
    """The objective of a batch: bags, scores, and teachers' scores."""

    model: TwoTowerMatcher
    pairs: Pairs
    objective: Objective
    device: str = "cpu"
    precision: str = "float32"
    taught: TeacherScores | None = None

    def __call__(self, batch: Batch, epoch: int) -> Loss:
        """Compute the loss of a batch."""
        regions, words, similarity, scores = self.score(
            batch.images, self.pairs.sentences, batch.sentences
        )
        owners = torch.tensor(batch.owners, device=scores.device)
        taught = self.taught(batch) if self.taught else None
        truth = self.pairs.truth
        weights = truth.weights(batch.images, batch.sentences).to(scores) if truth else None
        labels = self.match_labels(batch.labels) if batch.labels else None
        match = Match(regions, words, owners, scores, taught, weights, similarity, labels)
        return self.objective(match, epoch)

    def match_labels(self, batch: LabelBatch) -> LabelMatch:
        """Score photos with labels by texts of labels."""
        labels = self.pairs.labels
        assert labels is not None
        *_, scores = self.score(labels.images(batch), labels.inputs, batch.texts)
        return LabelMatch(scores, labels.true(batch).to(scores.device))

    def score(
        self, images: Sequence[int], texts: Sequence[Tensor], positions: Sequence[int]
    ) -> tuple[PaddedBags, PaddedBags, Tensor, Tensor]:
        """Encode both sides; give bags, products (N, K, R), and scores (K, L).

        Scores are summed in full precision.
        """
        with half_precision(self.device, self.precision):
            regions = workers.encode(self.regions, images)
            words = workers.encode(partial(self.words, texts), positions)
        similarity = products(regions, words)
        scores = SCORES[self.model.score].combine(similarity, regions.mask, words.mask)
        return regions, words, similarity, scores

    def regions(self, images: Sequence[int]) -> PaddedBags:
        """The bags of images, as they are learned."""
        inputs = pad(self.pairs.draw_inputs(images), self.device)
        return self.model.encode_images(inputs, precomputed=self.pairs.fixed_images)

    def words(self, texts: Sequence[Tensor], positions: Sequence[int]) -> PaddedBags:
        """The bags of some texts."""
        inputs = pad(take(texts, positions), self.device)
        return encoder_of(self.model, self.pairs)(inputs)


def validate_epoch(
    model: TwoTowerMatcher, train_pairs: Pairs, validation: Pairs, device: str, share: float
) -> ValidationResult:
    """Measure retrieval and similarity over val, with references of the learned pairs.

    With a share of its first weights, a model keeps its general references.
    """
    if not share:
        refer(model, train_pairs, device)
    bags = encode_split(model, validation, device)
    measured = rank_split(model, validation, bags, device)
    similar = None if validation.truth else measure_similarity(bags.sentences, validation.owners)
    values = asdict(measured) | {"similarity": asdict(similar) if similar else None}
    return ValidationResult(values, measured.recall_sum)


def refer(model: TwoTowerMatcher, pairs: Pairs, device: str = "cpu") -> None:
    """Give a matcher its references.

    Photos and sentences; it is left in evaluation.

    They are spread evenly over train, some repeated if train has fewer; sentences as
    `choose_reference_sentences` does.
    """
    config = model.config
    model.eval()
    if config.references:
        encode_images = partial(model.encode_images, precomputed=pairs.fixed_images)
        photos = encode_all(encode_images, spread(pairs.images, config.references), device)
        model.refer(torch.stack([bag[0] for bag in photos]))
    if config.reference_sentences:
        learned, naming = choose_reference_sentences(pairs, config.reference_sentences)
        bags = encode_all(encoder_of(model, pairs), learned, device)
        if naming:
            names = model.sentence_inputs(classes.naming_texts(naming))
            bags += encode_all(model.encode_sentences, names, device)
        model.refer_sentences(torch.stack([bag.sum(0) for bag in bags]))


def choose_reference_sentences(pairs: Pairs, count: int) -> tuple[list[Tensor], int]:
    """Choose learned sentences and a number of names of classes.

    Photos unlike train's are to be compared with their content, too. So half of the texts name
    classes; or, where some of train's photos have labels, half are sentences of these, and a
    quarter name classes.
    """
    of_labelled: dict[bool, list[int]] = {True: [], False: []}
    for sentence, image in enumerate(pairs.owners):
        of_labelled[bool(pairs.labelled) and pairs.labelled[image]].append(sentence)
    if not all(of_labelled.values()):
        return spread(pairs.sentences, count - count // 2), count // 2
    quarter = count // 4
    learned = [
        *spread(Repeated(pairs.sentences, of_labelled[False]), quarter),
        *spread(Repeated(pairs.sentences, of_labelled[True]), count - 2 * quarter),
    ]
    return learned, quarter


def spread(inputs: Sequence[Tensor], count: int) -> list[Tensor]:
    """So many of some inputs, evenly spread."""
    return take(inputs, torch.linspace(0, len(inputs) - 1, count).round().long().tolist())


def validate(model: TwoTowerMatcher, pairs: Pairs, device: str = "cpu") -> Retrieval:
    """Measure retrieval over a split's frozen inputs.

    The model is left in evaluation mode. Where several images answer a sentence, repeated sentences
    are left out.
    """
    return rank_split(model, pairs, encode_split(model, pairs, device), device)


def encode_split(model: TwoTowerMatcher, pairs: Pairs, device: str) -> SplitBags:
    """Encode a split's images and sentences, shared sentences once."""
    model.eval()
    positions = pairs.truth.distinct if pairs.truth else range(len(pairs.sentences))
    encode_images = partial(model.encode_images, precomputed=pairs.fixed_images)
    images = encode_all(encode_images, pairs.images, device)
    sentences = take(pairs.sentences, positions)
    return SplitBags(images, encode_all(encoder_of(model, pairs), sentences, device))


def rank_split(model: TwoTowerMatcher, pairs: Pairs, bags: SplitBags, device: str) -> Retrieval:
    """Rank a split's images by its sentences, and the other way round."""
    scores = score_matrix(bags.images, bags.sentences, model.score, device)
    if pairs.truth:
        weights = pairs.truth.weights(range(len(bags.images)), pairs.truth.distinct)
        return rank_pairs(scores, weights.numpy() > 0)
    return retrieval(scores, pairs.owners)


@torch.inference_mode()
def encode_all(
    encode: Callable[[PaddedBags], PaddedBags], inputs: Sequence[Tensor], device: str
) -> list[Tensor]:
    """The trained part's bag (F, D) of every input."""
    bags = []
    for first in range(0, len(inputs), ENCODED):
        batch = encode(pad(inputs[first : first + ENCODED], device))
        bags += [vectors[mask] for vectors, mask in zip(batch.vectors, batch.mask, strict=True)]
    return bags


def encoder_of(model: TwoTowerMatcher, pairs: Pairs) -> Callable[[PaddedBags], PaddedBags]:
    """Return the rest of a split's encoding of sentences."""
    if pairs.encoded:
        return model.finish_sentences
    return partial(model.encode_sentences, precomputed=pairs.fixed)


def pad(inputs: Sequence[Tensor], device: str) -> PaddedBags:
    """Inputs as one batch on a device, indices left whole."""
    return PaddedBags.of([tensor.to(device) for tensor in inputs])
