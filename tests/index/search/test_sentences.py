"""Texts as searches of sentences, by one vector a side."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from index.items import Entry
from index.search.index import Index
from index.search.query import terms_of
from index.search.requests import Request
from index.search.sums import ALIKE, RowLengths, estimate
from index.segments import candidates
from index.segments.rows import of_vectors
from models.scores.calibration import Calibration
from models.scores.scoring import SCORES
from models.text.queries import Query
from models.types import FragmentBag, Span


def words(vectors):
    spans = tuple(Span(2 * at, 2 * at + 1) for at in range(len(vectors)))
    return FragmentBag(torch.as_tensor(vectors), spans, ("w",) * len(vectors))


def told(item, *bags):
    return Entry(item, sentences=("a sentence",) * len(bags), bags=bags)


def text(*bags, weights=None):
    return Query(bags, tuple(weights or [1.0] * len(bags)), "a text")


@pytest.fixture(params=["sum_of_max", "mean_of_positive"])
def collection(catalog, request):
    return catalog.names.make("default", fingerprint="model-a", dimension=8, score=request.param)


def test_scores_by_hand(catalog, collection, index):
    rest = [0.0] * 6
    catalog.put_many(
        collection,
        [
            told("itself", words([[3.0, 0.0, *rest], [0.0, 4.0, *rest]])),
            told("part", words([[5.0, 0.0, *rest]])),
            told("against", words([[0.0, -1.0, *rest]])),
        ],
    )
    query = text(words([[3.0, 0.0, *rest], [0.0, 4.0, *rest]]))
    hits = index.best(Request("sentences", query)).hits
    assert [hit.item for hit in hits] == ["itself", "part", "against"]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.6, -0.8], abs=1e-6)
    assert [(link.fragment, link.region) for link in hits[0].links] == [(0, 0), (1, 1)]
    assert [link.similarity for link in hits[0].links] == pytest.approx([9 / 25, 16 / 25])


def test_every_sentence_finds_itself_first(catalog, collection, index, follow, sentence_bag):
    """Also a short one: the sum of max favoured long sentences."""
    bags = [words((1 + 9 * (at % 5)) * sentence_bag(1 + at % 7).vectors) for at in range(100)]
    catalog.put_many(collection, [told(f"{at:02}", bag) for at, bag in enumerate(bags)])
    for _ in range(2):
        for at, bag in enumerate(bags):
            (first,) = index.best(Request("sentences", text(bag), limit=1)).hits
            assert (first.item, first.score) == (f"{at:02}", pytest.approx(1, abs=1e-4))
        follow()


@pytest.mark.parametrize("lengths", ["alike", "apart"])
def test_candidates_have_the_hits_of_an_exact_search(
    catalog, collection, index, follow, sentence_bag, monkeypatch, lengths
):
    """Also with sums of very different lengths."""
    monkeypatch.setattr(candidates, "SCANNED", 30)
    monkeypatch.setattr(candidates, "count_candidates", lambda *_: 60)

    def bag(at):
        vectors = sentence_bag(2).vectors
        length = 1 + (at % 7) ** 2 if lengths == "apart" else 1 + 0.01 * (at % 7)
        return words(length * vectors / vectors.sum(0).norm())

    for start in range(0, 400, 100):
        catalog.put_many(
            collection, [told(f"{at:03}", bag(at)) for at in range(start, start + 100)]
        )
    follow()
    sides = [segment.sides["sentences"] for segment in index.snapshot().segments]
    assert {RowLengths.of(rows, 8).alike for rows in sides} == {lengths == "alike"}
    assert any("sentences" in segment.structures for segment in index.snapshot().segments)
    for at in range(20):
        request = Request("sentences", text(bag(at), bag(at + 1), weights=[1.0, -0.4]))
        usual, exact = index.best(request), index.best(replace(request, exact=True))
        assert (usual.exact, exact.exact) == (False, True)
        assert usual.candidates < exact.candidates == 400
        assert [hit.key for hit in usual.hits] == [hit.key for hit in exact.hits]


@pytest.mark.parametrize("magnitude", [1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e7])
@pytest.mark.parametrize("score", SCORES)
def test_estimates_are_within_their_errors(score, magnitude):
    random = np.random.default_rng(3)
    bags = [
        (magnitude * random.normal(size=(1 + at % 9, 16))).astype(np.float32) for at in range(60)
    ]
    bags += [np.concatenate([bag, -bag + 1e-3 * magnitude]) for bag in bags[:20]]  # almost nothing
    positions = list(range(len(bags)))
    rows = of_vectors(bags, positions, positions, "sentences", SCORES[score], dimension=16)
    request = Request("sentences", text(words(bags[0]), words(bags[5]), weights=[1.0, -2.0]))
    terms = terms_of(request.query, request.role)
    measured = RowLengths.of(rows, 16)
    cosines, errors = estimate(terms, rows, np.arange(len(rows)), measured)
    sums = np.stack([bag.astype(np.float64).sum(0) for bag in bags])
    units = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    exact = np.stack([units @ units[0], units @ units[5]])
    assert (np.abs(cosines - exact) <= errors).all()
    if 1e-3 <= magnitude <= 1e3:
        assert errors[:, :60].max() < 0.01


def test_lengths_are_alike_by_their_deviation():
    def measure(*lengths):
        bags = [np.eye(8, dtype=np.float32)[:1] * length for length in lengths]
        numbers = list(range(len(bags)))
        rows = of_vectors(bags, numbers, numbers, "sentences", SCORES["sum_of_max"], 8)
        return RowLengths.of(rows, 8)

    assert measure(10.0, 10.0).alike
    assert measure(10.0, 11.0).alike  # 0.05 of the mean
    assert not measure(10.0, 13.0).alike
    assert ALIKE == 0.1
    assert measure(10.0, 13.0).lengths.tolist() == [10.0, 13.0]


def test_a_calibration_of_other_pairs_has_no_probabilities_for_texts(
    catalog, collection, segments_folder, sentence_bag, image_bag
):
    bag = sentence_bag(3)
    catalog.put_many(collection, [told("a", bag)])
    references, coefficients = torch.ones(1, 8), torch.tensor([[0.5, 0.0, 0.0, 0.0]] * 2)
    calibration = Calibration(references, references, coefficients, 0.5)
    index = Index(catalog, collection, segments_folder, calibration=calibration)
    (hit,) = index.best(Request("sentences", text(bag))).hits
    assert hit.probability is None
    with pytest.raises(ValueError, match="before sentences had probabilities of their own"):
        index.best(Request("sentences", text(bag), least=0.5))
    (hit,) = index.best(Request("sentences", Query.of(image_bag(2)), least=0.01)).hits
    assert hit.probability is not None
    index.close()


def test_a_text_with_a_photo_asks_for_no_sentences(index, sentence_bag, image_bag):
    both = text(sentence_bag(2)).with_photo(image_bag(2), 0.5)
    with pytest.raises(ValueError, match="sentences answer a text or a photo"):
        index.best(Request("sentences", both))
