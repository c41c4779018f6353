import numpy as np
import pytest

from index.candidates import Centroids, Exact
from index.rescorer import Rescorer, Role, Term
from index.search import Index
from index.segments import Sizes
from models.queries import Query


@pytest.fixture
def many(catalog, collection, entry):
    catalog.put_many(collection, [entry(f"{i:03}", sentences=2) for i in range(200)])
    return collection


def search(catalog, collection, folder, candidates, query, **asked):
    sizes = Sizes(on_disk=1, chunk=20_000, largest=30_000)
    index = Index(catalog, collection, folder, candidates=candidates, sizes=sizes)
    index.prepare()
    ask = {"image": index.search_sentences, "sentence": index.search_images}
    kind = "image" if query.places[0].__class__.__name__ == "Box" else "sentence"
    return [(hit.item, hit.position, hit.score) for hit in ask[kind](Query.of(query), **asked)]


def centroids(**sizes):
    return Centroids(Rescorer("sum_of_max"), smallest=1, **sizes)


@pytest.mark.parametrize("kind", ["image", "sentence"])
def test_centroids_that_let_everything_through_rank_exactly(
    catalog, many, tmp_path, image_bag, sentence_bag, kind
):
    query = image_bag(4) if kind == "image" else sentence_bag(3)
    for where in (None, {"absent": 1}):
        coded, exact = (
            search(catalog, many, tmp_path, candidates, query, limit=400, where=where)
            for candidates in (centroids(centroids=16, keep=1000), Exact())
        )
        assert coded == exact


@pytest.mark.parametrize("kind", ["image", "sentence"])
def test_few_candidates_hold_nearly_all_of_the_best(
    catalog, many, tmp_path, image_bag, sentence_bag, kind
):
    candidates = centroids(centroids=256, keep=50)
    held = []
    for _ in range(10):
        query = image_bag(4) if kind == "image" else sentence_bag(3)
        coded, exact = (
            search(catalog, many, tmp_path, one, query, limit=5) for one in (candidates, Exact())
        )
        held.append(len(set(coded) & set(exact)) / 5)
    assert np.mean(held) > 0.8  # fragments without any structure are the hardest to code


def test_candidates_of_a_negation_are_those_that_lack_it(catalog, many, tmp_path, sentence_bag):
    asked = Query((sentence_bag(3), sentence_bag(3)), (1.0, -1.0))
    sizes = Sizes(on_disk=1, chunk=20_000, largest=30_000)
    found = []
    for candidates in (centroids(centroids=256, keep=60), Exact()):
        index = Index(catalog, many, tmp_path, candidates=candidates, sizes=sizes)
        index.prepare()
        found.append({hit.item for hit in index.search_images(asked, limit=10)})
    assert len(found[0] & found[1]) >= 7


def test_rows_that_nobody_prepared_all_pass(catalog, many, tmp_path, sentence_bag):
    query = sentence_bag(2)
    sizes = Sizes(on_disk=1, chunk=20_000, largest=30_000)
    unprepared = Index(catalog, many, tmp_path, candidates=centroids(keep=1), sizes=sizes)
    exact = Index(catalog, many, tmp_path, sizes=sizes)
    found, truth = (
        [hit.item for hit in index.search_images(Query.of(query), limit=200)]
        for index in (unprepared, exact)
    )
    assert found == truth


def test_codes_are_built_once_and_learned_together(catalog, many, tmp_path, sentence_bag):
    search(catalog, many, tmp_path, centroids(centroids=8), sentence_bag(2), limit=1)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("codes.npy")}
    search(catalog, many, tmp_path, centroids(centroids=8), sentence_bag(2), limit=1)
    assert len(files) > 2
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("codes.npy")} == files
    for side in ("images", "sentences"):
        learned = [np.load(path) for path in tmp_path.rglob(f"{side}/centroids.npy")]
        assert all((one == learned[0]).all() for one in learned)


def test_exact_keeps_what_it_is_given(sentence_bag):
    parts = []
    query = [Term(np.ones((1, 2), np.float32), 1.0)]
    assert Exact().choose(parts, query, Role.QUERY_IS_SENTENCE, 1) is parts
