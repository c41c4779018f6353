"""Value of negation in queries.

"a dog without a ball" as one text, without it and by minus; and "no ball".

    python -m benchmarks.models.negation ../data/flickr8k --split val

A photo answers "a dog without a ball" if its sentences name a dog and no ball. Asked are all pairs
of frequent nouns of which the second is named for 15 to 70 % of the photos of the first. One to
three of those second nouns are negated with nothing else asked for: "no ball or street".
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from index.search import query as query_parts
from index.search.query import QueryPart, SentenceRole
from models import checkpoint, shipped
from models.registry import Matcher
from models.scores.scoring import score_named
from models.text.parsing import parse_trees
from models.text.queries import Query
from models.text.query_drafts import NEGATED, of_phrases
from models.types import FragmentBag
from training.data import readers as folders
from training.data.corpus import Example
from training.evaluation.embedding import embed, embed_photos
from training.runs.progress import silent

WEIGHTS = (0.0, 0.25, NEGATED, 0.75, 1.0)
FIRST, SECOND = 40, 25  # photos that have to name a noun
SHARE = (0.15, 0.7)
TOP = 10
STEPS = {1: 1, 2: 1, 3: 17}  # so many of all combinations of nouns are asked
# Nouns of places in a picture and of people's own parts are there whether they are named or not.
VAGUE = frozenset(
    {"air", "area", "background", "body", "camera", "clothing", "color", "couple", "edge", "face"}
    | {"front", "ground", "group", "hair", "hand", "head", "mouth", "one", "other", "pair"}
    | {"picture", "piece", "side", "something", "top", "way"}
)


@dataclass(frozen=True, slots=True)
class World:
    """The photos of a split, and the nouns of each."""

    matcher: Matcher
    bags: list[FragmentBag]
    named: list[frozenset[str]]

    def scores(self, query: Query, weight: float, *, floored: bool = True) -> NDArray[np.float32]:
        """The score of every photo, with `weight` on negated parts.

        Negated parts count from 0 on if `floored`.
        """
        vectors = [bag.vectors.numpy() for bag in self.bags]
        score = score_named(self.matcher.score)
        total = np.zeros(len(vectors), np.float32)
        for part, part_weight in zip(query.parts, query.weights, strict=True):
            term = QueryPart(part.vectors.numpy(), part_weight, floored and part_weight < 0)
            scores = query_parts.exact(score, vectors, term, SentenceRole.QUERY_IS_SENTENCE)
            total += (part_weight if part_weight > 0 else -weight) * scores
        return total


def score_weighted(
    world: World, queries: dict[tuple[str, str], Query], weight: float, a: str, b: str
) -> NDArray[np.float32]:
    """The scores of photos for the text "a without b"."""
    return world.scores(queries[a, b], weight)


def world(matcher: Matcher, examples: Sequence[Example]) -> World:
    """Embed a split's photos and read its nouns."""
    texts = [text for example in examples for text in example.sentences]
    trees = iter(parse_trees(texts))
    named = [
        frozenset(
            word.lemma.lower()
            for _ in example.sentences
            for word in next(trees).words
            if word.tag.startswith("NN")
        )
        for example in examples
    ]
    return World(matcher, embed_photos(matcher, examples, silent), named)


def pairs(named: Sequence[frozenset[str]]) -> list[tuple[str, str]]:
    """Nouns (a, b): some photos with a have b, and some have not."""
    counts = Counter(noun for nouns in named for noun in nouns - VAGUE)
    return [
        (a, b)
        for a in sorted(noun for noun, count in counts.items() if count >= FIRST)
        for b in sorted(noun for noun, count in counts.items() if count >= SECOND and noun != a)
        if SHARE[0] <= sum({a, b} <= nouns for nouns in named) / counts[a] <= SHARE[1]
    ]


def report(
    name: str,
    photos: World,
    noun_pairs: Sequence[tuple[str, str]],
    score: Callable[[str, str], np.ndarray],
) -> None:
    """Print the mean average precision, and shares of the first ten photos."""
    rows = []
    for a, b in noun_pairs:
        has_a, has_b = (np.array([noun in nouns for nouns in photos.named]) for noun in (a, b))
        order = np.argsort(-score(a, b), kind="stable")
        right = (has_a & ~has_b)[order]
        precision = np.cumsum(right) / np.arange(1, len(right) + 1)
        first = order[:TOP]
        rows.append(
            (precision[right].mean(), right[:TOP].mean(), has_b[first].mean(), has_a[first].mean())
        )
    values = 100 * np.mean(rows, axis=0)
    print(
        f"{name:24} mAP {values[0]:5.1f}   P@{TOP} {values[1]:5.1f}   "
        f"name the negated {values[2]:5.1f}   name the asked {values[3]:5.1f}"
    )


def report_negations(photos: World, negated: Sequence[tuple[str, ...]]) -> None:
    """Print the share of the first photos without the negated nouns.

    Nothing else is asked for.
    """
    queries = {
        noun: of_phrases(photos.matcher, [(f"no {noun}", 1.0)])
        for noun in set(chain.from_iterable(negated))
    }
    lacking = [np.array([named.isdisjoint(nouns) for named in photos.named]) for nouns in negated]
    print(f"{len(negated)} negations of {len(negated[0])}: {share(lacking):.1f} % of all lack it")
    for floored in (True, False):
        scores = {
            noun: photos.scores(query, NEGATED, floored=floored) for noun, query in queries.items()
        }
        orders = [
            np.argsort(-np.sum([scores[noun] for noun in nouns], axis=0), kind="stable")
            for nouns in negated
        ]
        ordered = [lacks[order] for lacks, order in zip(lacking, orders, strict=True)]
        first = [share([lacks[:count] for lacks in ordered]) for count in (TOP, 5 * TOP)]
        name = "counted from 0 on" if floored else "as it is"
        print(f"{name:24} P@{TOP} {first[0]:5.1f}   P@{5 * TOP} {first[1]:5.1f}")


def share(masks: Sequence[NDArray[np.bool_]]) -> float:
    """The true share of masks, in percent."""
    return float(100 * np.mean([mask.mean() for mask in masks]))


def main() -> None:
    """Measure one checkpoint on one split."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="val")
    parser.add_argument("--matcher", type=Path, default=shipped.MATCHER)
    options = parser.parse_args()
    matcher: Matcher = checkpoint.load(options.matcher).model
    photos = world(matcher, folders.read(options.data).split(options.split))
    noun_pairs = pairs(photos.named)
    texts = {pair: "{} without {}".format(*pair) for pair in noun_pairs}
    plain = dict(
        zip(
            noun_pairs,
            embed(matcher.embed_sentences, [*texts.values()], silent, ""),
            strict=True,
        )
    )
    queries = {pair: of_phrases(matcher, [(text, 1.0)]) for pair, text in texts.items()}
    print(f"{len(noun_pairs)} texts such as {texts[noun_pairs[0]]!r}, {len(photos.bags)} photos")
    report(
        "as one text", photos, noun_pairs, lambda a, b: photos.scores(Query.of(plain[a, b]), 0.0)
    )
    for weight in WEIGHTS:
        name = f"minus {weight:.2f} times" if weight else "negation left out"
        report(name, photos, noun_pairs, partial(score_weighted, photos, queries, weight))
    nouns = sorted({b for _, b in noun_pairs})
    for count in (1, 2, 3):
        report_negations(photos, list(combinations(nouns, count))[:: STEPS[count]])


if __name__ == "__main__":
    main()
