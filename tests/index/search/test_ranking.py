"""Order among hits, and their probabilities."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from index.search.index import Index
from index.search.query import QueryPart, totals
from index.search.requests import HitKey, Request
from models.scores.calibration import Calibration, PairKind
from models.scores.scoring import SCORES
from models.text.queries import Query
from models.types import PaddedBags


@pytest.fixture
def calibration(random):
    photos, sentences = torch.randn(5, 8, generator=random), torch.randn(4, 8, generator=random)
    coefficients = torch.tensor(
        [[0.5, -0.3, 0.2, 0.1], [0.3, -0.2, 0.0, 0.1], [0.4, 0.1, -0.3, 0.2]]
    )
    return Calibration(photos, sentences, coefficients, 0.5)


@pytest.fixture
def index(catalog, collection, calibration, entry, segments_folder):
    catalog.put_many(collection, [entry(f"{i:02}", metadata={"n": i % 3}) for i in range(30)])
    return Index(catalog, collection, segments_folder, calibration=calibration)


def expected(calibration, kind, image, sentence):
    if kind is PairKind.TEXT_AND_TEXT:
        one, other = (bag.vectors.sum(0) / bag.vectors.sum(0).norm() for bag in (image, sentence))
        references = calibration.sentences / calibration.sentences.norm(dim=1, keepdim=True)
        a, b, c, d = calibration.coefficients[kind.value]
        strength = (references @ other).logsumexp(0)
        return float((-a * (one @ other).arccos() + b * strength + c * len(sentence) + d).sigmoid())
    pair = PaddedBags.of([image.vectors]), PaddedBags.of([sentence.vectors])
    sums, size = sentence.vectors.sum(0, keepdim=True).numpy(), np.array([len(sentence)])
    scores = SCORES["sum_of_max"](*pair)[0].numpy()
    return float(calibration.probabilities(kind, scores, sums, size)[0])


def test_keys_follow_one_another_by_score_then_id_then_position():
    keys = [
        HitKey(-2.0, "b", 0),
        HitKey(-1.0, "a", -1),
        HitKey(-1.0, "a", 3),
        HitKey(-1.0, "b", -1),
    ]
    assert sorted([keys[2], keys[0], keys[3], keys[1]]) == keys
    assert keys[0].score == 2.0


def weigh(*weights):
    return [QueryPart(np.zeros((1, 1), np.float32), weight) for weight in weights]


def test_total_by_hand():
    scores = np.array([[1, 2, 3], [10, 20, 30]], np.float32)
    terms = weigh(2.0, -0.5)
    assert totals(scores, terms).tolist() == [-3.0, -6.0, -9.0]
    assert totals(scores[:, :0], terms).tolist() == []


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 99))
def test_total_has_the_same_bits_alone_and_among_others(parts, count, seed):
    random = np.random.default_rng(seed)
    scores = random.normal(size=(parts, count)).astype(np.float32)
    terms = weigh(*random.normal(size=parts).tolist())
    together = totals(scores, terms).tolist()
    alone = [float(totals(scores[:, [one]], terms)[0]) for one in range(count)]
    assert alone == together


@pytest.mark.parametrize(
    ("side", "query", "kind"),
    [
        ("images", "text", PairKind.TEXT_IN_PHOTO),
        ("sentences", "photo", PairKind.TEXT_IN_PHOTO),
        ("sentences", "text", PairKind.TEXT_AND_TEXT),
        ("images", "photo", PairKind.PHOTO_IN_PHOTO),
    ],
)
def test_every_hit_has_the_probability_of_its_pair(
    index, calibration, sentence_bag, image_bag, side, query, kind
):
    bag = sentence_bag(3) if query == "text" else image_bag(4)
    asked = Query((bag,), (1.0,), "a text" if query == "text" else None)
    hits = index.best(Request(side, asked, limit=100)).hits
    assert len(hits) == (30 if side == "images" else 60)
    for hit in hits:
        pair = (bag, hit.bag) if (side, query) == ("sentences", "photo") else (hit.bag, bag)
        assert hit.probability == pytest.approx(expected(calibration, kind, *pair), abs=1e-5)


def test_answer_is_as_probable_as_its_least_probable_part(index, calibration, sentence_bag):
    there, absent = sentence_bag(3), sentence_bag(2)
    query = Query((there, absent), (1.0, -0.5), "a text")
    for hit in index.best(Request("images", query, limit=100)).hits:
        assert hit.probability == pytest.approx(
            calibration.of_pair(hit.bag, query, "sum_of_max"), abs=1e-5
        )


@pytest.mark.parametrize("side", ["images", "sentences"])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_pages_of_probable_hits_follow_on_in_the_order_of_scores(
    index, image_bag, side, exact, share
):
    request = Request(side, Query.of(image_bag(4)), limit=1_000, exact=exact)
    whole = index.best(request).hits
    least = sorted(hit.probability for hit in whole)[int(share * len(whole))]
    probable = [hit.key for hit in whole if hit.probability >= least]
    found, hit = [], None
    while True:
        page = replace(request, least=least, limit=4).behind(hit, len(found))
        answer = index.best(page)
        found += [one.key for one in answer.hits]
        if not answer.more:
            break
        hit = answer.hits[-1]
    assert found == probable
    of_two = replace(request, least=least, where={"n": 2})
    assert {hit.key for hit in index.best(of_two).hits} == {
        hit.key for hit in whole if hit.key in probable and int(hit.item) % 3 == 2
    }


def test_nothing_is_as_probable_as_that(index, image_bag):
    answer = index.best(Request("images", Query.of(image_bag(4)), least=1.0))
    assert (answer.hits, answer.more) == ((), False)


@pytest.mark.parametrize("side", ["images", "sentences"])
def test_exact_search_misses_no_probable_hit_where_probabilities_are_steep(
    catalog, collection, index, calibration, segments_folder, image_bag, side
):
    """Errors of codes' scores exceed the range of probabilities."""
    steep = replace(
        calibration, coefficients=calibration.coefficients * torch.tensor([99, 0, 0, 0])
    )
    level = Index(catalog, collection, segments_folder, calibration=calibration)
    query = Query.of(image_bag(4))
    middle = level.best(Request(side, query, limit=1_000, exact=True)).hits[7].score
    shifted = steep.coefficients.clone()
    shifted[:, 3] = -shifted[:, 0] * middle  # the probability of this one is a half
    sharp = Index(
        catalog, collection, segments_folder, calibration=replace(steep, coefficients=shifted)
    )
    request = Request(side, query, limit=1_000, exact=True)
    probable = [one.key for one in sharp.best(request).hits if one.probability >= 0.5]
    assert len(probable) in (7, 8)
    assert [one.key for one in sharp.best(replace(request, least=0.5)).hits] == probable
