"""Searches of regions equal brute force over all of them."""

from dataclasses import replace

import pytest
import torch

from index.bags import as_stored, position_of
from index.items import Entry, Picture
from index.search import exact_scores, scan
from index.search.index import Index
from index.search.regions import OVERLAP
from index.search.requests import Request
from index.segments import candidates, heads
from models.scores import alignment
from models.text.queries import Query
from models.types import WHOLE_FRAME, WHOLE_PHOTO, Box, FragmentBag, Span
from tests.index.searches import CALIBRATION

D, ITEMS = 24, 120
PHOTO = Picture(b"jpeg", 4, 3, "0" * 64)


@pytest.fixture(params=["sum_of_max", "mean_of_positive"])
def collection(catalog, request):
    return catalog.names.make("default", fingerprint="a", dimension=D, score=request.param)


def bag(random, fragments):
    """A photo of a whole and overlapping regions."""
    spread = torch.logspace(0, -2, D)
    vectors = torch.randn(D, generator=random) + spread * torch.randn(
        fragments, D, generator=random
    )
    boxes = tuple(Box(0.1 * (i % 3), 0.1 * (i // 3), 1.0, 0.9) for i in range(1, fragments))
    labels = tuple(f"region {i}" for i in range(1, fragments))
    return as_stored(FragmentBag(vectors, (WHOLE_FRAME, *boxes), (WHOLE_PHOTO, *labels)))


def words(random, count):
    spans = tuple(Span(2 * i, 2 * i + 1) for i in range(count))
    return FragmentBag(torch.randn(count, D, generator=random), spans, ("w",) * count)


def queries(random):
    two = words(random, 2), words(random, 3)
    return [
        Query(two[:1], (1.0,), "a text"),
        Query(two, (2.0, 0.5), "two phrases"),
        Query(two, (1.0, -0.5), "a text without something"),
        Query(two, (-0.5, -0.5), "only without"),
        Query.of(bag(random, 4)),
    ]


@pytest.fixture
def stored(catalog, collection, random):
    entries = [
        Entry(
            f"{i:03}",
            pictures=(PHOTO,) * (1 + i % 2),
            images=tuple(bag(random, 1 + (i + photo) % 6) for photo in range(1 + i % 2)),
            metadata={"even": i % 2 == 0},
        )
        for i in range(ITEMS)
    ]
    catalog.put_many(collection, entries)
    return entries


def brute_force(stored, query, score, per_photo):
    """All hits, best first: item, position, region and score."""
    found = []
    for entry in stored:
        for photo, image in enumerate(entry.images):
            scores = {
                at: sum(
                    weight * alignment.part_score(image.alone(at), part, score, floored=floored)
                    for part, weight, floored in zip(
                        query.parts, query.weights, query.floored, strict=True
                    )
                )
                for at in range(min(1, len(image) - 1), len(image))
            }
            chosen = []
            for at in sorted(scores, key=lambda at: -scores[at]):
                apart = all(image.places[at].iou(image.places[b]) < OVERLAP for b in chosen)
                if apart and len(chosen) < per_photo:
                    chosen.append(at)
            found += [(entry.id, position_of(photo), at, scores[at]) for at in chosen]
    return sorted(found, key=lambda hit: (-hit[3], *hit[:3]))


def check(index, request, truth):
    """Page through all hits; they equal those of brute force."""
    hits, hit = [], None
    while True:
        answer = index.best(request.behind(hit, len(hits)))
        hits += answer.hits
        if not answer.more:
            break
        hit = answer.hits[-1]
    assert len(hits) == len({hit.place for hit in hits}) == len(truth)
    scores = {row[:3]: row[3] for row in truth}
    for hit, row in zip(hits, truth, strict=True):
        assert hit.score == pytest.approx(row[3], abs=1e-3)
        assert hit.score == pytest.approx(scores[hit.place], abs=1e-3)
        assert sum(link.similarity for link in hit.links) == pytest.approx(hit.score, abs=1e-3)
        assert {link.region for link in hit.links} <= {hit.region}
        assert hit.probability is None


@pytest.mark.parametrize("per_photo", [1, 3])
def test_all_pages_have_the_hits_of_brute_force(
    collection, index, follow, stored, random, per_photo
):
    asked = queries(random)
    for query in asked[:3]:
        truth = brute_force(stored, query, collection.score, per_photo)
        check(index, Request("images", query, limit=70, per_photo=per_photo), truth)
    follow()
    for query in asked:
        truth = brute_force(stored, query, collection.score, per_photo)
        request = Request("images", query, limit=70, per_photo=per_photo, exact=True)
        check(index, request, truth)
    even = [row for row in truth if int(row[0]) % 2 == 0]
    check(index, replace(request, where={"even": True}), even)


def test_candidates_and_heads_have_the_hits_of_an_exact_search(
    catalog, collection, index, follow, stored, random, monkeypatch
):
    monkeypatch.setattr(candidates, "SCANNED", 20)
    monkeypatch.setattr(candidates, "count_candidates", lambda *_: 80)
    monkeypatch.setattr(heads, "LEAST", 2)
    monkeypatch.setattr(heads, "WIDTH", 6)
    monkeypatch.setattr(scan, "MANY", 0)
    follow()
    assert any(segment.sides["images"].heads for segment in index.snapshot().segments)
    for query in queries(random)[:3]:
        truth = brute_force(stored, query, collection.score, 2)[:5]
        request = Request("images", query, limit=5, per_photo=2)
        usual, exact = index.best(request), index.best(replace(request, exact=True))
        # Of the other score, the summary says little of lone regions, so all rows are looked at.
        assert (usual.exact, exact.exact) == (collection.score != "sum_of_max", True)
        assert usual.exact or usual.candidates < usual.rows
        for answer in (usual, exact):
            assert [hit.place for hit in answer.hits] == [row[:3] for row in truth]


def test_few_photos_are_read_for_the_best_regions(index, follow, stored, random, monkeypatch):
    read = []
    score = exact_scores.ExactScores.score

    def count(exact, keys, *rest):
        read.extend(keys)
        return score(exact, keys, *rest)

    monkeypatch.setattr(exact_scores.ExactScores, "score", count)
    reported = []
    index._exact._report = reported.append
    follow()
    for query in queries(random):
        index.best(Request("images", query, limit=1, per_photo=1, exact=True))
    assert len(read) < 5 * 30
    assert not reported  # no code is further off than its error


def test_what_regions_give_is_told_from_what_the_whole_photo_gives(catalog, collection, index):
    vectors = torch.zeros(3, D)
    vectors[:, 0], vectors[1, 1], vectors[2, 1] = 1.0, 2.0, 1.0
    boxes = (WHOLE_FRAME, Box(0.0, 0.0, 0.5, 0.5), Box(0.5, 0.5, 1.0, 1.0))
    image = FragmentBag(vectors, boxes, (WHOLE_PHOTO, "region 1", "region 2"))
    catalog.put_many(collection, [Entry("a", pictures=(PHOTO,), images=(image,))])
    word = torch.zeros(1, D)
    word[0, :2] = 1.0
    query = Query((FragmentBag(word, (Span(0, 1),), ("w",)),), (1.0,), "w")
    first, second = index.best(Request("images", query, per_photo=2)).hits
    assert (first.region, second.region) == (1, 2)
    (link,) = first.links
    scores = {"sum_of_max": (3.0, 1.0), "mean_of_positive": (3.0 / 6, None)}
    assert (first.score, link.whole) == pytest.approx(scores[collection.score])


def test_regions_have_no_probabilities_to_cut_at(catalog, collection, segments_folder, random):
    index = Index(catalog, collection, segments_folder, calibration=CALIBRATION)
    query = Query((words(random, 1),), (1.0,), "a text")
    with pytest.raises(ValueError, match="leave min_probability out"):
        index.best(Request("images", query, per_photo=1, least=0.5))
    index.close()


@pytest.mark.parametrize(("side", "per_photo"), [("images", 0), ("sentences", 1)])
def test_a_photo_has_some_regions_and_a_sentence_has_none(side, per_photo, random):
    with pytest.raises(ValueError, match="per_photo counts regions of images, from 1"):
        Request(side, Query.of(bag(random, 2)), per_photo=per_photo)
