"""Search: the best rows with their exact scores."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from index.catalog import reembedding
from index.items import Entry, ModelMismatch, Picture
from index.search.index import Index
from index.search.requests import Request
from models.scores.calibration import Calibration
from models.text.queries import Query
from models.types import Box, FragmentBag, Span


def vectors(fragments, seed, dimension=8):
    return torch.randn(fragments, dimension, generator=torch.Generator().manual_seed(seed))


def words(fragments, seed):
    spans = tuple(Span(2 * i, 2 * i + 1) for i in range(fragments))
    return FragmentBag(vectors(fragments, seed), spans, ("w",) * fragments)


def photo(fragments, seed):
    boxes = (Box(0, 0, 1, 1),) * fragments
    return FragmentBag(vectors(fragments, seed), boxes, ("r",) * fragments)


def texts(parts, weights):
    return Query(tuple(words(*part) for part in parts), tuple(weights), "a text")


SEEDS = st.integers(0, 10**6)
PARTS = st.lists(
    st.tuples(st.integers(1, 5), SEEDS, st.sampled_from([1.0, 2.5, 0.1, -0.5, -1.0])),
    min_size=1,
    max_size=4,
)
TEXTS = PARTS.map(lambda parts: texts([part[:2] for part in parts], [part[2] for part in parts]))
PHOTOS = st.builds(photo, st.integers(1, 6), SEEDS).map(Query.of)
FILTERS = st.sampled_from(
    [
        None,
        {},
        {"n": 3},
        {"n": [0, 2, 4]},
        {"half": True},
        {"half": False, "n": [1, 2]},
        {"n": 99},
        {"n": []},
        {"half": [True, False]},
        {"one": "of all"},
    ]
)
REQUESTS = st.builds(
    Request,
    side=st.sampled_from(["images", "sentences"]),
    query=TEXTS | PHOTOS,
    limit=st.sampled_from([1, 3, 10, 1_000]),
    where=FILTERS,
)


@pytest.fixture(params=["sum_of_max", "mean_of_positive"])
def collection(catalog, request):
    return catalog.names.make("default", fingerprint="model-a", dimension=8, score=request.param)


@pytest.fixture
def shop(catalog, collection, entry):
    """Items with metadata after some changes."""
    for start in range(0, 60, 20):
        catalog.put_many(
            collection,
            [
                entry(
                    f"{i:02}",
                    sentences=i % 4,
                    photos=(i % 4 == 0 or i % 3 > 0) * (1 + i % 3),
                    metadata={"n": i % 6, "half": i % 2 == 0}
                    | ({"one": "of all"} if i == 7 else {}),
                )
                for i in range(start, start + 20)
            ],
        )
        catalog.delete(collection, f"{start + 4:02}")
        catalog.replace(collection, entry(f"{start + 5:02}", metadata={"n": 2, "half": False}))


def test_answers_are_those_of_brute_force(shop, index, follow, right):
    @settings(max_examples=40)
    @given(REQUESTS)
    def check(request):
        exact = index.best(replace(request, exact=True))
        assert right(request, exact)
        assert exact.exact
        # Of a small collection every row is scored, so that the usual answer is exact too.
        usual = index.best(request)
        assert [hit.key for hit in usual.hits] == [hit.key for hit in exact.hits]
        assert (usual.exact, usual.more) == (True, exact.more)

    check()
    follow()
    check()


def test_scores_are_the_same_to_the_bit_in_any_list(shop, index):
    query = texts([(3, 1), (2, 2), (4, 3)], [1.0, -0.5, 0.3])
    every = index.best(Request("images", query, limit=1_000)).hits
    for place, hit in enumerate(every):
        (alone,) = index.best(
            Request("images", query, limit=1, after=every[place - 1].key if place else None)
        ).hits
        assert (alone.item, alone.score) == (hit.item, hit.score)


def test_links_add_up_to_the_score_in_every_direction(shop, collection, index):
    text = texts([(3, 1), (2, 2)], [2.0, -0.5])
    for side in ("images", "sentences"):
        for query in (text, Query.of(photo(4, 3))):
            hits = index.best(Request(side, query, limit=1_000)).hits
            assert len(hits) > 30
            for hit in hits:
                assert sum(link.similarity for link in hit.links) == pytest.approx(
                    hit.score, abs=1e-4
                )
                sentence, image = (query.bag, hit.bag)
                if side == "sentences" and query.text is None:
                    sentence, image = image, sentence
                assert all(link.fragment < len(sentence.places) for link in hit.links)
                assert all(link.region < len(image.places) for link in hit.links)


def test_what_a_query_negates_is_subtracted_where_it_is_there(catalog, collection, index, entry):
    catalog.put_many(collection, [entry(f"{i}") for i in range(30)])
    query = texts([(3, 1), (2, 2)], [2.0, -0.5])
    for hit in index.best(Request("images", query, limit=100)).hits:
        assert all(link.similarity <= 0 for link in hit.links if link.negated)
        if collection.score == "sum_of_max":
            image = hit.bag.vectors
            asked = (image @ query.parts[0].vectors.T).amax(0).sum()
            there = (image @ query.parts[1].vectors.T).amax(0).clamp_min(0).sum()
            assert hit.score == pytest.approx(float(2 * asked - 0.5 * there), abs=1e-4)
            assert [link.negated for link in hit.links] == [False] * 3 + [True] * 2


@pytest.fixture
def alike(catalog, collection, entry):
    """Items with equal bags."""
    one = entry("x", sentences=2)
    same = replace(one, bags=(one.bags[0], one.bags[0]))
    ids = ["b", "ä", "a", "a/1", "Z", "10", "9"]
    for item in ids:
        catalog.replace(collection, replace(same, id=item))
    return sorted(ids)


def test_equal_scores_come_by_id_then_position(alike, index):
    hits = index.best(Request("images", texts([(2, 1)], [1.0]), limit=9)).hits
    assert [hit.item for hit in hits] == alike
    hits = index.best(Request("sentences", Query.of(photo(3, 1)), limit=20)).hits
    assert [(hit.item, hit.position) for hit in hits] == [(i, p) for i in alike for p in (0, 1)]


def pages(index, request, between=lambda: None):
    """All hits, page after page."""
    found, hit = [], None
    while True:
        answer = index.best(request.behind(hit, len(found)))
        found += answer.hits
        assert answer.more == (len(answer.hits) == request.limit and answer.more)
        if not answer.more:
            return found
        hit = answer.hits[-1]
        between()


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_pages_hold_every_hit_once_and_in_order(shop, alike, index, limit):
    for side, query in (
        ("images", texts([(3, 1), (1, 2), (2, 3)], [1.0, -0.7, 0.2])),
        ("sentences", Query.of(photo(3, 2))),
    ):
        request = Request(side, query, limit=limit)
        whole = index.best(replace(request, limit=1_000)).hits
        assert [hit.key for hit in pages(index, request)] == [hit.key for hit in whole]


def test_items_that_come_and_go_between_pages_disturb_no_others(
    catalog, collection, shop, index, entry, follow
):
    request = Request("images", texts([(3, 1)], [1.0]), limit=5)
    before = [hit.key for hit in index.best(replace(request, limit=1_000)).hits]
    numbers = iter(range(100))

    def between():
        number = next(numbers)
        catalog.replace(collection, entry(f"new {number}"))
        if number % 3 == 0:
            catalog.delete(collection, f"new {number}")
        if number % 2:
            follow()

    found = [hit.key for hit in pages(index, request, between)]
    assert found == sorted(set(found))
    assert [key for key in found if not key.item.startswith("new")] == before


def test_put_is_in_the_next_search_and_what_is_gone_in_none(
    catalog, collection, index, entry, follow
):
    request = Request("sentences", Query.of(photo(2, 1)), limit=100)
    index.start()  # from here on a thread follows the catalog
    there = {}
    for number in range(60):
        item = f"{number % 13}"
        if number % 3 == 2 and item in there:
            catalog.delete(collection, item)
            del there[item]
        else:
            there[item] = entry(item, sentences=1)
            catalog.replace(collection, there[item])
        if number % 20 == 10:
            follow()
        hits = index.best(request).hits
        assert {hit.item for hit in hits} == set(there)
        for hit in hits:
            assert torch.allclose(hit.bag.vectors, there[hit.item].bags[0].vectors, atol=4e-3)


def test_item_is_found_while_it_is_replaced(catalog, collection, index, entry, monkeypatch):
    catalog.put_many(collection, [entry("a"), entry("b")])
    index.start()
    fetch, replacing = catalog.bags, [entry("a"), entry("a")]

    def bags(*asked):
        if replacing:  # after the snapshot, and before the bags of the best are fetched
            catalog.replace(collection, replacing.pop())
        return fetch(*asked)

    monkeypatch.setattr(catalog, "bags", bags)
    hits = index.best(Request("images", texts([(2, 1)], [1.0]), limit=5)).hits
    assert {hit.item for hit in hits} == {"a", "b"}
    catalog.delete(collection, "b")
    hits = index.best(Request("images", texts([(2, 1)], [1.0]), limit=5)).hits
    assert [hit.item for hit in hits] == ["a"]


def test_hit_brings_its_own_boxes_and_labels(catalog, collection, index, entry):
    given_entry = entry("a")
    catalog.replace(collection, given_entry)
    (hit,) = index.best(Request("images", texts([(2, 1)], [1.0]), limit=1)).hits
    assert hit.bag.labels == given_entry.images[0].labels
    assert [box.right for box in hit.bag.places] == pytest.approx(
        [box.right for box in given_entry.images[0].places]
    )
    assert (hit.position, hit.probability) == (-1, None)


def test_hit_tells_its_links_though_its_item_is_gone(catalog, collection, index, entry):
    given_entry = entry("a")
    catalog.replace(collection, given_entry)
    (hit,) = index.best(Request("images", texts([(2, 1)], [1.0]), limit=1)).hits
    catalog.delete(collection, "a")
    assert sum(link.similarity for link in hit.links) == pytest.approx(hit.score, abs=1e-4)
    assert hit.bag.labels == given_entry.images[0].labels
    assert hit.links is hit.links  # made once


def test_query_that_does_not_fit_is_refused(index):
    def ask(*parts, **options):
        query = Query(parts, (1.0,) * len(parts))
        return index.best(Request("images", query, limit=1, **options))

    def bag(values):
        return FragmentBag(values, (Span(0, 1),) * len(values), ("a",) * len(values))

    with pytest.raises(ValueError, match=r"query's vectors have 5 numbers.*holds vectors of 8"):
        ask(bag(torch.ones(2, 5)))
    with pytest.raises(ValueError, match="no fragments"):
        ask(bag(torch.ones(0, 8)))
    with pytest.raises(ValueError, match="no fragments"):
        ask()
    for odd in ("nan", "inf", "-inf"):
        with pytest.raises(ValueError, match="not finite"):
            ask(words(2, 1), bag(torch.full((1, 8), float(odd))))
    with pytest.raises(ValueError, match="takes gt, gte"):
        ask(words(2, 1), where={"n": {"x": 1}})
    with pytest.raises(ValueError, match="tessera calibrate"):
        ask(words(2, 1), least=0.5)


def test_limits_out_of_range_are_refused():
    with pytest.raises(ValueError, match="limit starts at 1, got 0"):
        Request("images", texts([(1, 1)], [1.0]), limit=0)
    for seen in (-1, 10_001):
        with pytest.raises(ValueError, match="narrow the search down"):
            Request("images", texts([(1, 1)], [1.0]), seen=seen)


def test_query_may_come_straight_from_a_model(catalog, collection, index, entry):
    catalog.replace(collection, entry("a"))
    plain = words(2, 1)
    learned = replace(plain, vectors=plain.vectors.double().T.contiguous().T.requires_grad_())
    scores = [
        index.best(Request("images", Query.of(bag), limit=1)).hits[0].score
        for bag in (plain, learned)
    ]
    assert scores[0] == scores[1]


def test_huge_and_tiny_bags_rank_rightly_together(catalog, collection, index, right):
    for magnitude in (1e-6, 1.0, 1e3, 1e7):
        for number in range(4):
            bag = photo(1 + number, number)
            bag.vectors.mul_(magnitude)
            shown = (Picture(b"jpeg", 4, 3, "0" * 64),)
            catalog.replace(
                collection, Entry(f"{magnitude} {number}", pictures=shown, images=(bag,))
            )
    for weights in ([1.0], [1e-6], [1e6]):
        request = Request("images", texts([(3, 5)], weights), limit=5)
        for exact in (True, False):
            answer = index.best(replace(request, exact=exact))
            assert right(request, answer)


def test_another_models_takeover_is_said(catalog, collection, index, entry):
    catalog.replace(collection, entry("a"))
    request = Request("images", texts([(2, 1)], [1.0]))
    assert index.best(request).hits
    reembedding.reembed(
        catalog,
        "default",
        fingerprint="model-b",
        dimension=8,
        score=collection.score,
        embed=lambda entries: entries,
        progress=lambda done, total: None,
    )
    with pytest.raises(ModelMismatch, match="another model has re-embedded it"):
        index.best(request)


@pytest.mark.parametrize("later", [1, 4, 9])  # fewer, as many and more changes than vanished
def test_filters_know_nothing_of_a_history_that_a_backup_undid(
    catalog, collection, index, entry, tmp_path, later
):
    def named(start, count, name):
        numbers = range(start, start + count)
        return [entry(f"{name} {i}", metadata={"name": name}) for i in numbers]

    catalog.put_many(collection, named(0, 6, "first"))
    backup = tmp_path / "backup.sqlite"
    with closing(sqlite3.connect(catalog.reader.url.database)) as connection:
        connection.execute("VACUUM INTO ?", [str(backup)])
    catalog.put_many(collection, named(0, 4, "vanishing"))
    query = texts([(2, 1)], [1.0])
    requests = {
        name: Request("images", query, limit=99, where={"name": name})
        for name in ("first", "vanishing", "later")
    }
    found = {name: len(index.best(request).hits) for name, request in requests.items()}
    assert found == {"first": 6, "vanishing": 4, "later": 0}
    with (
        closing(sqlite3.connect(backup)) as old,
        closing(sqlite3.connect(catalog.reader.url.database)) as new,
    ):
        old.backup(new)  # under the index's feet
    catalog.put_many(collection, named(0, later, "later"))
    index.snapshot()
    found = {name: {hit.item for hit in index.best(one).hits} for name, one in requests.items()}
    assert found["first"] == {f"first {i}" for i in range(6)}
    assert found["vanishing"] == set()
    assert found["later"] == {f"later {i}" for i in range(later)}


def test_segments_of_another_database_are_never_taken_for_ours(
    catalog, collection, index, entry, follow, tmp_path, segments_folder
):
    catalog.put_many(collection, [entry(f"first {i}") for i in range(9)])
    follow()
    other = type(catalog).in_folder(tmp_path / "other")
    theirs = other.names.make("default", fingerprint="m", dimension=8, score="sum_of_max")
    other.replace(theirs, entry("second"))
    hits = Index(other, theirs, segments_folder).best(
        Request("images", texts([(2, 1)], [1.0]), limit=99)
    )
    assert [hit.item for hit in hits.hits] == ["second"]
    other.close()


def test_photos_that_promise_most_are_the_best_hits(catalog, collection, segments_folder, entry):
    items = [entry(f"{number}", sentences=0, photos=1 + number % 3) for number in range(30)]
    catalog.put_many(collection, items)
    references = torch.zeros(1, 8)
    coefficients = torch.tensor([[0.3, 0.0, 0.0, 0.1]] * 3)
    calibration = Calibration(references, references, coefficients, 0.5)
    index = Index(catalog, collection, segments_folder, calibration=calibration)
    query = Query.of(words(2, 1))
    best = index.best(Request("images", query, limit=5)).hits
    photos = index.shortlist("images", query, 1000)
    assert len(photos.revisions) == 60
    order = np.argsort(-photos.probabilities)
    first = list(dict.fromkeys(photos.revisions[order].tolist()))[:5]
    explained = index.explain("images", query, photos.of_items(first))
    hits = [explained[revision] for revision in first]
    assert [(hit.item, hit.position) for hit in hits] == [(hit.item, hit.position) for hit in best]
    assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in best])
    top = [photos.probabilities[photos.revisions == revision].max() for revision in first]
    assert top == pytest.approx([hit.probability for hit in best], abs=0.01)
    some = sorted(first[1:3])
    assert sorted(set(index.shortlist("images", query, 1000, np.array(some)).revisions)) == some
    index.close()


def test_photos_need_a_calibration(index):
    with pytest.raises(ValueError, match="tessera calibrate"):
        index.shortlist("images", Query.of(words(2, 1)), 10)
