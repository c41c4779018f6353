"""Calibration of a matcher: probabilities of its scores, measured on held-out photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.registry import Matcher
from models.scores.calibration import Calibration, PairKind
from models.text.lexicon import is_known
from models.types import FragmentBag
from training.data.corpus import Corpus, Example
from training.data.vocabulary import count_words
from training.evaluation import embedding
from training.evaluation.reliability import Reliability, best_threshold, reliability
from training.evaluation.score_matrix import score_matrix, sum_to_units
from training.evaluation.true_answers import (
    AskedText,
    ParsedPhotos,
    draw_texts,
    find_alike,
    find_answers,
)
from training.matchers.regression import logistic
from training.runs.progress import Progress

REFERENCES = 300  # photos and sentences of train whose vectors the checkpoint keeps
FIRST, RANDOM = 10, 5  # pairs of each text: its first hits, and photos at random
OUTSIDE = 0.5  # texts about photos of train for each text about a photo that is searched
LEAST_COUNT = 2  # occurrences of a known word in train, at least
SEED = 0
LEAST_DEVIATION = 1e-6
TEXTS = ", texts and texts"  # of a split, as it is measured

Photo = TypeVar("Photo")


@dataclass(frozen=True, slots=True)
class LabelledPairs:
    """Pairs of one kind: features (N, 4), truth, and whether texts are short."""

    kind: PairKind
    features: Tensor
    truth: NDArray[np.bool_]
    short: NDArray[np.bool_]

    def measure(
        self, calibration: Calibration, only: NDArray[np.bool_] | None = None
    ) -> Reliability:
        """Measure a calibration's reliability on these pairs, or on some of them."""
        mask = np.ones(len(self.truth), np.bool_) if only is None else only
        predicted = probabilities(calibration, self)
        return reliability(predicted[mask], self.truth[mask])


@dataclass(frozen=True, slots=True)
class SearchedSplit:
    """Photos, their texts of searches, and the bags of both."""

    photos: ParsedPhotos
    images: list[FragmentBag]
    texts: list[AskedText]
    bags: list[FragmentBag]


def calibrate(
    matcher: Matcher,
    corpus: Corpus,
    checks: Sequence[Corpus],
    progress: Progress,
    device: str = "cpu",
) -> tuple[Calibration, dict[str, Reliability]]:
    """Fit on half of val's photos; measure on the rest.

    Raises LookupError for a corpus without train or val, ValueError for photos or texts that cannot
    be embedded, and for a matcher with a catalogue's terms, whose calibration is its start's.
    """
    if getattr(matcher, "terms", None) is not None:
        raise ValueError(
            "a matcher with a catalogue's terms has the calibration of its start: calibrate that "
            "one, and train the terms again"
        )
    train = corpus.split("train")
    images = embedding.embed_photos(matcher, corpus.split("val"), progress)
    fitted, held_out = (
        prepare_split(matcher, half, [images[i] for i in positions], absent, progress)
        for half, absent, positions in halve(corpus)
    )
    calibrated = fit_calibration(make_references(matcher, train, progress), matcher, fitted, device)
    calibrated = replace(calibrated, words=frozenset(list_unknown_words(train)))
    reliabilities = measure_split(calibrated, matcher, held_out, f"{corpus.name} val", device)
    for check in checks:
        photos = ParsedPhotos.of(check.split("val"))
        check_images = embedding.embed_photos(matcher, photos.examples, progress)
        check_split = prepare_split(matcher, photos, check_images, [], progress)
        reliabilities |= measure_split(
            calibrated, matcher, check_split, f"{check.name} val", device
        )
    facts = {name: asdict(curve) for name, curve in reliabilities.items()}
    return replace(calibrated, facts={"data": corpus.name, "reliability": facts}), reliabilities


def halve(corpus: Corpus) -> list[tuple[ParsedPhotos, list[Example], list[int]]]:
    """Halve val at random, with as many photos of train."""
    random = Random(SEED)  # noqa: S311 - a sample, no secret
    train, val = corpus.split("train"), ParsedPhotos.of(corpus.split("val"))
    order = random.sample(range(len(val)), len(val))
    halves = [sorted(order[: len(val) // 2]), sorted(order[len(val) // 2 :])]
    return [
        (val.select(half), pick_evenly(train, len(half), first), half)
        for first, half in enumerate(halves)
    ]


def fit_calibration(
    raw: Calibration, matcher: Matcher, fitted: SearchedSplit, device: str
) -> Calibration:
    """Fit each kind's coefficients, and weak hits' threshold."""
    pairs = [choose_pairs(raw, matcher, fitted, kind, device) for kind in PairKind]
    calibrated = replace(raw, coefficients=torch.stack([fit(kind_pairs) for kind_pairs in pairs]))
    answered = pairs[PairKind.TEXT_IN_PHOTO.value]
    weak = best_threshold(probabilities(calibrated, answered), answered.truth)
    return replace(calibrated, weak_below=weak)


def pick_evenly(examples: Sequence[Photo], count: int, first: int) -> list[Photo]:
    """`count` examples or all, evenly spread over all, from the first on."""
    step = max(1, len(examples) // max(1, count))
    return list(examples[first % step :: step])[:count]


def make_references(matcher: Matcher, train: Sequence[Example], progress: Progress) -> Calibration:
    """Make a calibration of references alone, in their stored half precision."""
    chosen = pick_evenly(train, REFERENCES, 0)
    photos = embedding.embed_photos(matcher, chosen, progress)
    sentences = [example.sentences[0] for example in chosen]
    sentence_bags = embedding.embed(matcher.embed_sentences, sentences, progress, "sentences")
    return Calibration(
        torch.stack([bag.vectors[0] for bag in photos]).half().float(),
        torch.stack([bag.vectors.sum(0) for bag in sentence_bags]).half().float(),
        torch.zeros(len(PairKind), 4),
        0.0,
    )


def list_unknown_words(train: Sequence[Example]) -> list[str]:
    """List the words of train without a place in lexicons."""
    word_counts = count_words(train).items()
    return sorted(
        word for word, count in word_counts if count >= LEAST_COUNT and not is_known(word)
    )


def prepare_split(
    matcher: Matcher,
    photos: ParsedPhotos,
    images: list[FragmentBag],
    outside: Sequence[Example],
    progress: Progress,
) -> SearchedSplit:
    """Draw texts about the photos and about absent photos, and embed them."""
    random = Random(SEED)  # noqa: S311
    queries = draw_texts(photos, random)
    query_texts = {text.text for text in queries}
    absent_texts = draw_texts(ParsedPhotos.of(outside), random)
    negatives = [replace(text, photo=None) for text in absent_texts if text.text not in query_texts]
    queries += random.sample(negatives, min(len(negatives), int(OUTSIDE * len(queries))))
    words = [text.text for text in queries]
    bags = embedding.embed(matcher.embed_sentences, words, progress, "texts")
    return SearchedSplit(photos, images, queries, bags)


def choose_pairs(
    raw: Calibration, matcher: Matcher, val_split: SearchedSplit, kind: PairKind, device: str
) -> LabelledPairs:
    """Choose first hits, and other pairs at random."""
    queries, rows, truth, short = choose_sides(val_split, kind)
    if kind is PairKind.TEXT_AND_TEXT:
        scores: NDArray[np.float32] = sum_to_units(rows) @ sum_to_units(queries).T
    else:
        scores = score_all(matcher, queries, rows, device)
    random, chosen = Random(SEED), list[tuple[int, int]]()  # noqa: S311
    for query in range(len(queries)):
        order = np.argsort(-scores[:, query], kind="stable")
        # A photo, or a sentence, is no answer to itself.
        order = order[[rows[row] is not queries[query] for row in order]].tolist()
        later = order[FIRST:]
        picked = order[:FIRST] + random.sample(later, min(RANDOM, len(later)))
        chosen += [(row, query) for row in picked]
    return make_pairs(raw, kind, queries, scores, truth, short, np.array(chosen))


def choose_sentences(
    raw: Calibration, matcher: Matcher, val_split: SearchedSplit, device: str
) -> LabelledPairs:
    """Choose the first hits of each photo among the split's sentences."""
    queries, rows, truth, short = choose_sides(val_split, PairKind.TEXT_IN_PHOTO)
    scores = score_all(matcher, queries, rows, device)
    scores[:, short] = -np.inf
    ranking = np.argsort(-scores, axis=1, kind="stable")[:, :FIRST]  # (K, FIRST)
    chosen = np.array([(row, query) for row, hits in enumerate(ranking) for query in hits])
    return make_pairs(raw, PairKind.TEXT_IN_PHOTO, queries, scores, truth, short, chosen)


def score_all(
    matcher: Matcher, queries: Sequence[FragmentBag], rows: Sequence[FragmentBag], device: str
) -> NDArray[np.float32]:
    """Score rows (K) for queries (L); a sum runs over a query's fragments."""
    scores: NDArray[np.float32] = score_matrix(
        [bag.vectors for bag in rows], [bag.vectors for bag in queries], matcher.score, device
    )
    return scores


def make_pairs(
    raw: Calibration,
    kind: PairKind,
    queries: Sequence[FragmentBag],
    scores: NDArray[np.float32],
    truth: NDArray[np.bool_],
    short: NDArray[np.bool_],
    chosen: NDArray[np.int64],
) -> LabelledPairs:
    """The pairs (row, query) of `chosen` (N, 2)."""
    row, query = chosen.T
    sums = torch.stack([bag.vectors.float().sum(0) for bag in queries]).numpy()  # (L, D)
    sizes = np.array([len(bag) for bag in queries])
    features = raw.features(kind, scores[row, query], sums[query], sizes[query])
    return LabelledPairs(kind, torch.from_numpy(features), truth[row, query], short[query])


def choose_sides(
    val_split: SearchedSplit, kind: PairKind
) -> tuple[list[FragmentBag], list[FragmentBag], NDArray[np.bool_], NDArray[np.bool_]]:
    """Choose the queries (L), the rows (K), the truth (K, L), and short queries.

    A sentence is an answer where its photo is.
    """
    if kind is PairKind.PHOTO_IN_PHOTO:
        return (
            val_split.images,
            val_split.images,
            find_alike(val_split.photos),
            np.zeros(len(val_split.images), np.bool_),
        )
    truth = find_answers(val_split.photos.list_nouns(), val_split.texts)  # (photos, L)
    short = np.array([text.short for text in val_split.texts])
    if kind is PairKind.TEXT_IN_PHOTO:
        return val_split.bags, val_split.images, truth, short
    stored = [
        (bag, text.photo)
        for bag, text in zip(val_split.bags, val_split.texts, strict=True)
        if text.photo is not None and not text.short
    ]
    return val_split.bags, [bag for bag, _ in stored], truth[[photo for _, photo in stored]], short


def fit(pairs: LabelledPairs) -> Tensor:
    """The coefficients (4,) of a logistic regression, by Newton's method.

    Features are scaled to deviation 1 for the fit.
    """
    x, y = pairs.features.double(), torch.from_numpy(pairs.truth).double()
    deviation = x.std(0)
    deviation[deviation < LEAST_DEVIATION] = torch.inf  # a constant feature says nothing
    deviation[-1] = 1.0  # the constant
    return (logistic(x / deviation, y) / deviation).float()


def probabilities(calibration: Calibration, pairs: LabelledPairs) -> NDArray[np.float64]:
    """The probability of every pair, (N,)."""
    logits = pairs.features @ calibration.coefficients[pairs.kind.value]
    probability: NDArray[np.float64] = torch.sigmoid(logits).double().numpy()
    return probability


def measure_split(
    calibration: Calibration, matcher: Matcher, val_split: SearchedSplit, name: str, device: str
) -> dict[str, Reliability]:
    """Measure a calibration's reliability on a split, for each kind of pair."""
    in_photos, photos, in_texts = (
        choose_pairs(calibration, matcher, val_split, kind, device) for kind in PairKind
    )
    sentences = choose_sentences(calibration, matcher, val_split, device)
    return {
        name: in_photos.measure(calibration),
        f"{name}, sentences": in_photos.measure(calibration, ~in_photos.short),
        f"{name}, short texts": in_photos.measure(calibration, in_photos.short),
        f"{name}, sentences for photos": sentences.measure(calibration),
        f"{name}, photos in photos": photos.measure(calibration),
        name + TEXTS: in_texts.measure(calibration),
    }
