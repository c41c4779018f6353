"""Candidates: FAISS's hold the best, within filters."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from index.items import Entry, Picture
from index.search import shortlist
from index.search.requests import Request
from index.segments import candidates, rows
from index.segments.follower import Follower, Sizes
from index.segments.rows import SIDES
from models.scores.half_dots import HalfDots
from models.scores.scoring import SCORES
from models.text.queries import Query
from models.threads import Workers
from models.types import Box, FragmentBag, Span

CLUSTERS = 12


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """FAISS serves small segments too."""
    monkeypatch.setattr(candidates, "SCANNED", 40)
    monkeypatch.setattr(candidates, "LEAST", 40)
    monkeypatch.setattr(candidates, "GROWTH", 1.0)
    monkeypatch.setattr(candidates, "FEW", 0)


class World:
    """Photos and sentences in clusters, like albums'."""

    def __init__(self):
        self.random = torch.Generator().manual_seed(3)
        self.centres = torch.randn(CLUSTERS, 8, generator=self.random)

    def near(self, cluster, fragments, spread):
        centre = self.centres[cluster] + 0.5 * torch.randn(8, generator=self.random)
        return centre + spread * torch.randn(fragments, 8, generator=self.random)

    def photo(self, cluster):
        vectors = self.near(cluster, 4, 0.2)
        return FragmentBag(vectors, (Box(0, 0, 1, 1),) * 4, ("whole photo", "a", "b", "c"))

    def text(self, cluster):
        spans = tuple(Span(2 * i, 2 * i + 1) for i in range(3))
        return FragmentBag(self.near(cluster, 3, 0.5), spans, ("w",) * 3)

    def entry(self, number):
        cluster = number % CLUSTERS
        return Entry(
            f"{number:03}",
            metadata={"cluster": cluster, "even": number % 2 == 0, "tenth": number % 10},
            pictures=(Picture(b"jpeg", 4, 3, "0" * 64),),
            images=(self.photo(cluster),),
            sentences=("a b c",),
            bags=(self.text(cluster),),
        )


@pytest.fixture
def world():
    return World()


@pytest.fixture
def filled(catalog, collection, segments_folder, world):
    """600 items in one segment."""
    catalog.put_many(collection, [world.entry(i) for i in range(600)])
    follower = Follower(
        catalog, collection, segments_folder / collection.token, Sizes(chunk=1000, largest=10**6)
    )
    while follower.step(flush=True):
        pass
    return follower


@pytest.fixture
def asked(world):
    """Requests of both directions for FAISS."""
    return [
        Request(side, Query.of(bag), limit=5)
        for cluster in range(CLUSTERS)
        for side, bag in (("images", world.text(cluster)), ("sentences", world.photo(cluster)))
    ]


def recall(index, request):
    usual, exact = (index.best(replace(request, exact=one)).hits for one in (False, True))
    return len({hit.key for hit in usual} & {hit.key for hit in exact}) / len(exact)


def test_few_candidates_hold_nearly_all_of_the_best(index, filled, asked):
    (segment,) = index.snapshot().published
    assert segment.structures.keys() == set(SIDES)
    assert index.overview().images.found_by == {"codes": 600}
    for request in asked:
        answer = index.best(request)
        assert (answer.exact, answer.candidates, answer.rows) == (False, 40, 600)
    assert np.mean([recall(index, request) for request in asked]) > 0.97


def test_exact_answers_are_exact(index, filled, asked, right):
    for request in asked[:6]:
        answer = index.best(replace(request, exact=True))
        assert (answer.exact, answer.candidates) == (True, 600)
        assert right(request, answer)


@pytest.mark.parametrize(
    ("where", "share"),
    [({"even": True}, 0.5), ({"tenth": [1, 2, 3, 4, 5, 6, 7, 8, 9]}, 0.9), ({"tenth": 3}, 0.1)],
)
def test_filter_lets_only_what_passes_be_found(
    catalog, collection, index, filled, asked, where, share
):
    passing = {one.id for one in catalog.list_items(collection, limit=1_000, where=where)}
    assert len(passing) == 600 * share
    for request in asked:
        hits = index.best(replace(request, where=where)).hits
        assert len(hits) == 5
        assert {hit.item for hit in hits} <= passing
    found = [recall(index, replace(request, where=where)) for request in asked]
    assert np.mean(found) > 0.95


def test_full_pages_are_found_where_all_that_passes_is_far_from_the_query(index, filled, world):
    request = Request("images", Query.of(world.text(0)), limit=5)
    far = min(range(CLUSTERS), key=lambda one: float(world.centres[one] @ world.centres[0]))
    for where in ({"cluster": [far]}, {"cluster": [far, (far + 1) % CLUSTERS or 1]}):
        answer = index.best(replace(request, where=where, limit=8))
        assert len(answer.hits) == 8
        assert recall(index, replace(request, where=where)) == 1


def test_segments_that_hold_most_of_the_best_are_asked_for_all_of_them(
    catalog, collection, index, segments_folder, world, monkeypatch
):
    """Photos of a cluster are stored together, as those of an album."""
    entries = sorted((world.entry(i) for i in range(600)), key=lambda e: e.metadata["cluster"])
    catalog.put_many(collection, entries)
    follower = Follower(
        catalog, collection, segments_folder / collection.token, Sizes(chunk=100, largest=100)
    )
    while follower.step(flush=True):
        pass
    assert len(index.snapshot().published) == 6
    monkeypatch.setattr(candidates, "REFINED", 1)
    monkeypatch.setattr(candidates, "COARSE", 0.1)
    monkeypatch.setattr(candidates, "PER_HIT", 1)
    requests = [Request("images", Query.of(world.text(c)), limit=30) for c in range(CLUSTERS)]
    answers = [index.best(request) for request in requests]
    assert {answer.candidates for answer in answers} == {40}
    monkeypatch.setattr(shortlist, "ASKED", 1_000)
    for request, answer in zip(requests, answers, strict=True):
        whole = index.best(request)
        assert [hit.key for hit in whole.hits] == [hit.key for hit in answer.hits]


def test_what_was_deleted_or_replaced_is_no_candidate(
    catalog, collection, index, filled, world, asked
):
    gone = {f"{number:03}" for number in range(0, 600, 3)}
    for item in gone:
        catalog.delete(collection, item)
    replaced = {f"{number:03}": world.entry(number) for number in range(1, 600, 30)}
    catalog.put_many(collection, list(replaced.values()))
    for request in asked:
        hits = index.best(replace(request, limit=20)).hits
        assert len(hits) == 20
        assert not gone & {hit.item for hit in hits}
        for hit in hits:
            if hit.item in replaced:
                truth = replaced[hit.item]
                bag = truth.images[0] if request.side == "images" else truth.bags[0]
                assert torch.allclose(bag.vectors, hit.bag.vectors, atol=4e-3)
    assert np.mean([recall(index, request) for request in asked]) > 0.95


def test_newer_rows_are_found_next_to_those_of_faiss(catalog, collection, index, filled, world):
    text = world.text(4)
    catalog.replace(collection, replace(world.entry(4), id="new", images=(world.photo(4),)))
    photo = catalog.entry(collection, "new").images[0]
    stronger = replace(photo, vectors=3 * photo.vectors)
    catalog.replace(collection, replace(world.entry(4), id="new", images=(stronger,)))
    assert index.best(Request("images", Query.of(text), limit=1)).hits[0].item == "new"


def test_pages_of_candidates_hold_no_hit_twice(index, filled, asked):
    for request in asked[:2]:
        found, hit = [], None
        for _ in range(8):
            answer = index.best(request.behind(hit, len(found)))
            found += [one.key for one in answer.hits]
            hit = answer.hits[-1]
        assert found == sorted(set(found))
        exact = index.best(replace(request, exact=True, limit=40)).hits
        assert len({one.key for one in exact} & set(found)) > 36


def test_mere_negations_are_scanned(index, filled, world, right):
    request = Request("images", Query((world.text(1),), (-1.0,)), limit=5)
    answer = index.best(request)
    assert (answer.exact, answer.candidates) == (True, 600)
    assert right(request, answer)


def test_negated_part_is_left_to_the_scores(index, filled, world):
    found = [
        recall(
            index, Request("images", Query((world.text(a), world.text(b)), (1.0, -0.3)), limit=5)
        )
        for a, b in zip(range(CLUSTERS), range(1, CLUSTERS), strict=False)
    ]
    assert np.mean(found) > 0.9


@pytest.mark.parametrize("cells", [1, 18])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("side", SIDES)
def test_structures_find_what_a_plain_product_finds(world, score, side, cells, monkeypatch):
    """Many rows in some of their cells."""
    monkeypatch.setattr(candidates, "SPLIT", 300 if cells > 1 else 301)
    monkeypatch.setattr(candidates, "CELL", 300 // cells)
    make = world.photo if side == "images" else world.text
    bags = [make(number % CLUSTERS).vectors.numpy() for number in range(300)]
    held = rows.of_vectors(bags, range(300), range(300), side, SCORES[score], 8)
    structure = candidates.build(held)
    assert structure.cells == cells
    allowed = np.arange(300) % 3 > 0
    hits = 0
    for number in range(CLUSTERS):
        query = world.centres[number].numpy()
        products = held.summaries.astype(np.float32) @ query
        for passing in (None, allowed):
            found = structure.nearest(query, 40, passing, 100)
            assert len(set(found.rows.tolist())) == 40
            assert passing is None or passing[found.rows].all()
            assert (np.diff(found.products) <= 0).all()
            truth = np.argsort(-np.where(True if passing is None else passing, products, -np.inf))
            hits += len(set(truth[:10].tolist()) & set(found.rows.tolist()))
            (fine,) = candidates.best(
                [candidates.multiply_summaries(held, found.rows, HalfDots(query[None]))], 10
            )
            assert fine.products == pytest.approx(products[fine.rows], abs=1e-3)
            assert (np.diff(fine.rows) > 0).all()
    assert hits / (2 * CLUSTERS * 10) > 0.95


def test_no_more_rows_are_found_than_pass(world):
    bags = [world.photo(number % CLUSTERS).vectors.numpy() for number in range(300)]
    held = rows.of_vectors(bags, range(300), range(300), "images", SCORES["sum_of_max"], 8)
    allowed = np.arange(300) % 100 == 0
    found = candidates.build(held).nearest(world.centres[0].numpy(), 1_000, allowed)
    assert sorted(found.rows.tolist()) == [0, 100, 200]


def test_file_of_another_version_is_refused(tmp_path):
    """Codes of 8 bits, as in former segments: they are rebuilt."""
    faiss = candidates.library()
    before = faiss.IndexScalarQuantizer(8, faiss.ScalarQuantizer.QT_8bit)
    before.train(np.eye(8, dtype=np.float32))
    candidates.write(candidates.Structure(before), tmp_path / "images.faiss")
    with pytest.raises(ValueError, match="another version: it holds IndexScalarQuantizer"):
        candidates.read(tmp_path / "images.faiss", 0)


def test_more_is_wanted_of_more_rows_for_more_hits_and_for_fewer_words(monkeypatch):
    monkeypatch.undo()
    assert candidates.count_candidates(10, 1, 12) == candidates.LEAST
    assert candidates.count_candidates(10, 100, 12) == 100 * candidates.PER_HIT
    assert candidates.count_candidates(10**6, 1, 12) == pytest.approx(
        candidates.GROWTH * 10 ** (6 * candidates.POWER), abs=1
    )
    assert candidates.count_candidates(20_000, 10, 40) == candidates.count_candidates(
        20_000, 10, candidates.LONG
    )
    few = [candidates.count_candidates(20_000, 10, words) for words in (12, 2, 1)]
    assert np.diff(few).tolist() == [250, 300]


def test_codes_find_more_than_is_wanted_and_more_where_they_are_coarse(world):
    assert candidates.count_by_codes(10_000, 300, fine=True) == 600
    assert candidates.count_by_codes(10**6, 1_000, fine=True) == 4_000
    assert candidates.count_by_codes(10**7, 2_586, fine=True) == 18_566
    assert candidates.count_by_codes(3_000, 200, fine=False) == 600
    assert candidates.count_by_codes(10**6, 1_000, fine=False) == int(10**4.2)


def test_less_is_looked_at_in_one_of_many_segments(world):
    assert candidates.count_looked_at(2**18, 1.0) == candidates.count_looked_at(2**17, 0.25)
    assert candidates.count_looked_at(2**18, 1.0) == 40_960
    assert candidates.count_looked_at(2**21, 1.0) == 163_840
    assert candidates.count_looked_at(2**18, 1 / 256) == 20_480


def test_codes_are_fine_where_most_rows_lie_in_cells(world, in_cells):
    held = in_cells([world.photo(number % CLUSTERS) for number in range(300)])
    structures = [candidates.build(held), candidates.build(held.until(60)), None]
    assert [one and one.cells for one in structures] == [30, 1, None]
    assert candidates.are_fine(structures, [300, 30, 10])
    assert not candidates.are_fine(structures, [300, 60, 10])


@pytest.fixture
def in_cells(monkeypatch):
    """Rows of photos in cells of ten."""
    monkeypatch.setattr(candidates, "SPLIT", 100)
    monkeypatch.setattr(candidates, "CELL", 10)
    monkeypatch.setattr(candidates, "SPARE", 1)

    def make(bags):
        vectors, numbers = [bag.vectors.numpy() for bag in bags], range(len(bags))
        return rows.of_vectors(vectors, numbers, numbers, "images", SCORES["sum_of_max"], 8)

    return make


def test_cells_hold_as_many_rows_that_pass_however_far_from_the_query(world, in_cells):
    clusters = np.arange(300) % CLUSTERS
    held = in_cells([world.photo(cluster) for cluster in clusters])
    structure = candidates.build(held)
    for cluster in range(CLUSTERS):
        query = world.centres[cluster].numpy()
        far = np.argsort(world.centres.numpy() @ query)[:3]
        allowed = np.isin(clusters, far)  # none of those whose cells are the nearest
        found = structure.nearest(query, 30, allowed, 60)
        products = held.summaries.astype(np.float32) @ query
        truth = np.argsort(-np.where(allowed, products, -np.inf))[:10]
        assert len(found.rows) == 30
        assert len({*truth.tolist()} & {*found.rows.tolist()}) >= 8
        (cells, _) = structure.choose_cells(query[None], 60, None)
        assert 1 <= len(cells) < structure.cells / 2  # of all rows, few are looked at


def test_many_rows_are_found_in_as_many_cells_as_hold_them(world, in_cells):
    structure = candidates.build(in_cells([world.photo(n % CLUSTERS) for n in range(300)]))
    query, allowed = world.centres[0].numpy(), np.arange(300) % 2 == 0
    for count, passing, expected in ((200, None, 200), (100, allowed, 100), (300, allowed, 150)):
        assert len({*structure.nearest(query, count, passing, 10).rows.tolist()}) == expected


def test_parts_of_cells_find_what_all_together_find(world, in_cells):
    structure = candidates.build(in_cells([world.photo(n % CLUSTERS) for n in range(300)]))
    allowed, workers = np.arange(300) % 2 == 0, Workers(3)
    for cluster, passing in product(range(CLUSTERS), (None, allowed)):
        query = world.centres[cluster].numpy()
        whole = structure.nearest(query, 20, passing, 60)
        parts = structure.nearest(query, 20, passing, 60, 3, workers.map)
        assert len({*parts.rows.tolist()}) == 20
        # FAISS rounds products, of other cells otherwise.
        assert len({*parts.rows.tolist()} & {*whole.rows.tolist()}) >= 18
        assert np.sort(parts.products) == pytest.approx(np.sort(whole.products), abs=0.05)


def test_graphs_find_the_cells_of_rows(world, in_cells, monkeypatch):
    held = in_cells([world.photo(n % CLUSTERS) for n in range(300)])
    by_all = candidates.build(held)
    monkeypatch.setattr(candidates, "GRAPH", 30)
    made, make = [], candidates.library().IndexHNSWFlat

    def count(dimension, *options):
        made.append(dimension)
        return make(dimension, *options)

    monkeypatch.setattr(candidates.library(), "IndexHNSWFlat", count)
    by_graph = candidates.build(held)
    assert by_graph.cells == by_all.cells == 30
    assert made == [8]
    same = by_graph.cells_of_rows[:, None] == by_graph.cells_of_rows
    assert (same == (by_all.cells_of_rows[:, None] == by_all.cells_of_rows)).mean() > 0.95


def test_a_damaged_number_of_a_row_costs_that_row_alone(world, in_cells, tmp_path):
    held = in_cells([world.photo(n % CLUSTERS) for n in range(300)])
    path = tmp_path / "images.faiss"
    built = candidates.build(held)
    candidates.write(built, path)
    whole, lists = path.read_bytes(), built.index.invlists
    cell = max(range(30), key=lists.list_size)
    size = lists.list_size(cell)
    ids = candidates.library().rev_swig_ptr(lists.get_ids(cell), size).tobytes()
    assert whole.count(ids) == 1
    damaged = np.frombuffer(ids, np.int64).copy()
    damaged[0] = 10**9
    path.write_bytes(whole.replace(ids, damaged.tobytes()))
    structure = candidates.read(path, 300)
    for allowed in (None, np.ones(300, np.bool_)):
        found = structure.nearest(world.centres[0].numpy(), 300, allowed, 60).rows
        assert {*found.tolist()} >= {*range(300)} - {int(np.frombuffer(ids, np.int64)[0])}
        assert found.max() < 300


def test_rows_all_alike_are_found_though_most_cells_are_empty(world, in_cells):
    held = in_cells([world.photo(0)] * 200)
    query = world.centres[0].numpy()
    for alike in (held, held.until(59)):
        for allowed in (None, np.arange(len(alike)) < 50):
            found = candidates.build(alike).nearest(query, 20, allowed, 60)
            assert len({*found.rows.tolist()}) == 20
            assert allowed is None or allowed[found.rows].all()


def test_portions_of_shards_hold_the_best_of_all():
    """By hand: 400 / 4 + 3 √(400 / 4 · 3 / 4) = 125.98; then of 20,000 rows in four shards."""
    assert candidates.count_of_shard(400, 0.25) == 126
    assert candidates.count_of_shard(400, 1.0) == 400
    assert candidates.count_of_shard(3, 0.25) == 3
    random = np.random.default_rng(7)
    ranks = [np.flatnonzero(random.integers(4, size=20_000) == 0) for _ in range(100)]
    missed = sum(np.count_nonzero(of_one[126:] < 400) for of_one in ranks)
    assert missed <= 0.001 * 100 * 400


def test_portions_hold_the_best_where_rows_of_an_item_share_its_shard():
    """Eight rows an item of the best 400: 400 / 4 + 3 √(8 · 400 / 4 · 3 / 4) = 173.5."""
    assert candidates.count_of_shard(400, 0.25, 8) == 174
    random = np.random.default_rng(7)
    held = 8 * random.binomial(50, 0.25, size=2_000)  # rows of the best 400 in a shard
    assert np.maximum(held - 174, 0).sum() <= 0.001 * held.sum()
    assert np.maximum(held - 126, 0).sum() > 0.01 * held.sum()  # as if each row had a shard


@pytest.mark.parametrize(("side", "sign"), [("images", -1), ("sentences", 1)])
def test_an_average_row_is_known_to_have_so_many_of_its_item(side, sign):
    """Items of one, two and five rows: (1 + 4 + 25) / 8."""
    positions = [sign * place - (sign < 0) for m in (1, 2, 5) for place in range(m)]
    items = [number for number, m in enumerate((1, 2, 5)) for _ in range(m)]
    bags = [np.ones((1, 4), np.float32)] * 8
    held = rows.of_vectors(bags, items, positions, side, SCORES["sum_of_max"], 4)
    assert candidates.rows_per_item([held.until(1), held.since(1)]) == 30 / 8
    assert candidates.rows_per_item([]) == 1


def test_only_many_rows_have_a_structure(monkeypatch):
    held = rows.of_vectors(
        [np.ones((1, 4), np.float32)] * 41, range(41), range(41), "images", SCORES["sum_of_max"], 4
    )
    assert candidates.build(held).index.ntotal == 41
    assert candidates.build(held.until(39)) is None
