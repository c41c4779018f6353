"""Calibrating a matcher: what its scores are worth as probabilities, measured on photos apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from random import Random

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.registry import Matcher
from models.scores.calibration import Calibration, PairKind
from models.text.lexicon import is_known
from models.types import FragmentBag
from training.data.corpus import Corpus, Example
from training.data.vocabulary import counts
from training.evaluation import embedding
from training.evaluation.answers import Described, Text, alike, answers, texts
from training.evaluation.reliability import Reliability, best_threshold, reliability
from training.evaluation.scores import score_matrix
from training.matchers.regression import logistic
from training.runs.progress import Progress

REFERENCES = 300  # photos and sentences of train whose vectors the checkpoint keeps
FIRST, RANDOM = 10, 5  # pairs of each text: its first hits, and photos at random
OUTSIDE = 0.5  # texts about photos of train for each text about a photo that is searched
LEAST_COUNT = 2  # how often train says a word that the model then knows
SEED = 0
LEAST_DEVIATION = 1e-6


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of one kind: features (N, 4), whether each is true, and whether its text is short."""

    kind: PairKind
    features: Tensor
    truth: NDArray[np.bool_]
    short: NDArray[np.bool_]

    def measured(
        self, calibration: Calibration, only: NDArray[np.bool_] | None = None
    ) -> Reliability:
        """How reliable a calibration is on these pairs, or on some of them."""
        mask = np.ones(len(self.truth), np.bool_) if only is None else only
        predicted = probabilities(calibration, self)
        return reliability(predicted[mask], self.truth[mask])


@dataclass(frozen=True, slots=True)
class Split:
    """Photos that are searched, texts that search them, and the bags of both."""

    photos: Described
    images: list[FragmentBag]
    texts: list[Text]
    bags: list[FragmentBag]


def calibrate(
    matcher: Matcher,
    corpus: Corpus,
    checks: Sequence[Corpus],
    progress: Progress,
    device: str = "cpu",
) -> tuple[Calibration, dict[str, Reliability]]:
    """Fit on one half of val's photos, and measure on the other and on the split val of checks.

    Raises LookupError for a corpus without train or val, ValueError for what cannot be embedded,
    and for a matcher with terms of a catalogue, whose calibration is its start's.
    """
    if getattr(matcher, "terms", None) is not None:
        raise ValueError(
            "a matcher with a catalogue's terms has the calibration of its start: calibrate that "
            "one, and train the terms anew"
        )
    random = Random(SEED)  # noqa: S311 - a sample, no secret
    train, val = corpus.split("train"), Described.of(corpus.split("val"))
    images = embedding.photos(matcher, val.examples, progress)
    order = random.sample(range(len(val)), len(val))
    halves = [sorted(order[: len(val) // 2]), sorted(order[len(val) // 2 :])]
    outside = [every(train, len(half), first) for first, half in enumerate(halves)]
    fitted, held_out = (
        split(matcher, val.some(half), [images[i] for i in half], absent, progress)
        for half, absent in zip(halves, outside, strict=True)
    )
    raw = references(matcher, train, progress)
    pairs = [pairs_of(raw, matcher, fitted, kind, device) for kind in PairKind]
    calibrated = replace(raw, coefficients=torch.stack([fit(kind_pairs) for kind_pairs in pairs]))
    answered = pairs[PairKind.TEXT_IN_PHOTO.value]
    weak = best_threshold(probabilities(calibrated, answered), answered.truth)
    calibrated = replace(calibrated, weak_below=weak, words=frozenset(own_words(train)))
    reliabilities = measured(calibrated, matcher, held_out, f"{corpus.name} val", device)
    for check in checks:
        photos = Described.of(check.split("val"))
        check_images = embedding.photos(matcher, photos.examples, progress)
        check_split = split(matcher, photos, check_images, [], progress)
        reliabilities |= measured(calibrated, matcher, check_split, f"{check.name} val", device)
    facts = {name: asdict(curve) for name, curve in reliabilities.items()}
    return replace(calibrated, facts={"data": corpus.name, "reliability": facts}), reliabilities


def every(examples: Sequence[Example], count: int, first: int) -> list[Example]:
    """`count` examples or all, evenly spread over all, from the first on."""
    step = max(1, len(examples) // max(1, count))
    return list(examples[first % step :: step])[:count]


def references(matcher: Matcher, train: Sequence[Example], progress: Progress) -> Calibration:
    """A calibration that knows its references alone, in the half precision they are stored in."""
    chosen = every(train, REFERENCES, 0)
    photos = embedding.photos(matcher, chosen, progress)
    sentences = [example.sentences[0] for example in chosen]
    sentence_bags = embedding.embedded(matcher.embed_sentences, sentences, progress, "sentences")
    return Calibration(
        torch.stack([bag.vectors[0] for bag in photos]).half().float(),
        torch.stack([bag.vectors.sum(0) for bag in sentence_bags]).half().float(),
        torch.zeros(len(PairKind), 4),
        0.0,
    )


def own_words(train: Sequence[Example]) -> list[str]:
    """The words that train says and no lexicon has."""
    word_counts = counts(train).items()
    return sorted(
        word for word, count in word_counts if count >= LEAST_COUNT and not is_known(word)
    )


def split(
    matcher: Matcher,
    photos: Described,
    images: list[FragmentBag],
    outside: Sequence[Example],
    progress: Progress,
) -> Split:
    """Texts about the photos, and about photos that are not there, with the bags of all."""
    random = Random(SEED)  # noqa: S311
    queries = texts(photos, random)
    query_texts = {text.text for text in queries}
    absent_texts = texts(Described.of(outside), random)
    negatives = [replace(text, photo=None) for text in absent_texts if text.text not in query_texts]
    queries += random.sample(negatives, min(len(negatives), int(OUTSIDE * len(queries))))
    words = [text.text for text in queries]
    bags = embedding.embedded(matcher.embed_sentences, words, progress, "texts")
    return Split(photos, images, queries, bags)


def pairs_of(
    raw: Calibration, matcher: Matcher, val_split: Split, kind: PairKind, device: str
) -> Pairs:
    """The first hits of each text or photo of a split, and others at random."""
    queries, rows, truth, short = sides(val_split, kind)
    scores = scored(matcher, queries, rows, device)
    random, chosen = Random(SEED), list[tuple[int, int]]()  # noqa: S311
    for query in range(len(queries)):
        order = np.argsort(-scores[:, query], kind="stable")
        # A photo, or a sentence, is no answer to itself.
        order = order[[rows[row] is not queries[query] for row in order]].tolist()
        later = order[FIRST:]
        picked = order[:FIRST] + random.sample(later, min(RANDOM, len(later)))
        chosen += [(row, query) for row in picked]
    return paired(raw, kind, queries, scores, truth, short, np.array(chosen))


def sentences_for_photos(
    raw: Calibration, matcher: Matcher, val_split: Split, device: str
) -> Pairs:
    """The first hits of each photo of a split among the split's sentences."""
    queries, rows, truth, short = sides(val_split, PairKind.TEXT_IN_PHOTO)
    scores = scored(matcher, queries, rows, device)
    scores[:, short] = -np.inf
    ranking = np.argsort(-scores, axis=1, kind="stable")[:, :FIRST]  # (K, FIRST)
    chosen = np.array([(row, query) for row, hits in enumerate(ranking) for query in hits])
    return paired(raw, PairKind.TEXT_IN_PHOTO, queries, scores, truth, short, chosen)


def scored(
    matcher: Matcher, queries: Sequence[FragmentBag], rows: Sequence[FragmentBag], device: str
) -> NDArray[np.float32]:
    """The scores (K, L) of rows for queries, which are summed over."""
    scores: NDArray[np.float32] = score_matrix(
        [bag.vectors for bag in rows], [bag.vectors for bag in queries], matcher.score, device
    )
    return scores


def paired(
    raw: Calibration,
    kind: PairKind,
    queries: Sequence[FragmentBag],
    scores: NDArray[np.float32],
    truth: NDArray[np.bool_],
    short: NDArray[np.bool_],
    chosen: NDArray[np.int64],
) -> Pairs:
    """The pairs (row, query) of `chosen` (N, 2)."""
    row, query = chosen.T
    sums = torch.stack([bag.vectors.float().sum(0) for bag in queries])  # (L, D)
    sizes = torch.tensor([len(bag) for bag in queries])
    pair_scores = torch.from_numpy(scores[row, query])
    features = raw.features(kind, pair_scores, sums[query], sizes[query])
    return Pairs(kind, features, truth[row, query], short[query])


def sides(
    val_split: Split, kind: PairKind
) -> tuple[list[FragmentBag], list[FragmentBag], NDArray[np.bool_], NDArray[np.bool_]]:
    """The queries (L), what they search (K), the truth (K, L), and which queries are short.

    A sentence is an answer where its photo is.
    """
    if kind is PairKind.PHOTO_IN_PHOTO:
        return (
            val_split.images,
            val_split.images,
            alike(val_split.photos),
            np.zeros(len(val_split.images), np.bool_),
        )
    truth = answers(val_split.photos.named(), val_split.texts)  # (photos, L)
    short = np.array([text.short for text in val_split.texts])
    if kind is PairKind.TEXT_IN_PHOTO:
        return val_split.bags, val_split.images, truth, short
    stored = [
        (bag, text.photo)
        for bag, text in zip(val_split.bags, val_split.texts, strict=True)
        if text.photo is not None and not text.short
    ]
    return val_split.bags, [bag for bag, _ in stored], truth[[photo for _, photo in stored]], short


def fit(pairs: Pairs) -> Tensor:
    """The coefficients (4,) of a logistic regression, by Newton's method.

    Features are scaled to deviation 1 while they are fitted.
    """
    x, y = pairs.features.double(), torch.from_numpy(pairs.truth).double()
    deviation = x.std(0)
    deviation[deviation < LEAST_DEVIATION] = torch.inf  # what never varies says nothing
    deviation[-1] = 1.0  # the constant
    return (logistic(x / deviation, y) / deviation).float()


def probabilities(calibration: Calibration, pairs: Pairs) -> NDArray[np.float64]:
    """The probability of every pair, (N,)."""
    logits = pairs.features @ calibration.coefficients[pairs.kind.value]
    probability: NDArray[np.float64] = torch.sigmoid(logits).double().numpy()
    return probability


def measured(
    calibration: Calibration, matcher: Matcher, val_split: Split, name: str, device: str
) -> dict[str, Reliability]:
    """The reliability of a calibration on a split: texts in photos, long and short, and others."""
    in_photos, photos, in_texts = (
        pairs_of(calibration, matcher, val_split, kind, device) for kind in PairKind
    )
    sentences = sentences_for_photos(calibration, matcher, val_split, device)
    return {
        name: in_photos.measured(calibration),
        f"{name}, sentences": in_photos.measured(calibration, ~in_photos.short),
        f"{name}, short texts": in_photos.measured(calibration, in_photos.short),
        f"{name}, sentences for photos": sentences.measured(calibration),
        f"{name}, photos in photos": photos.measured(calibration),
        f"{name}, texts in texts": in_texts.measured(calibration),
    }
