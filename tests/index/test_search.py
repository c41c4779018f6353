import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from index.catalog import Catalog
from index.items import Entry, Picture
from index.search import Index
from index.segments import Sizes
from models.queries import Query
from models.scoring import sum_of_max
from models.types import Box, FragmentBag, PaddedBags, Span

TINY = Sizes(on_disk=4000, chunk=6000, largest=12_000)  # bytes: segments of a few items each


@pytest.fixture
def index(catalog, collection, tmp_path):
    return Index(catalog, collection, tmp_path / "segments", sizes=TINY)


def score(image, sentence):
    pair = PaddedBags.of([image.vectors]), PaddedBags.of([sentence.vectors])
    return float(sum_of_max(*pair))


def brute_images(entries, query):
    found = [(one.id, None, score(one.image, query)) for one in entries if one.image]
    return sorted(found, key=lambda hit: (-hit[2], hit[0]))


def brute_sentences(entries, query):
    found = [
        (one.id, position, score(query, bag))
        for one in entries
        for position, bag in enumerate(one.bags)
    ]
    return sorted(found, key=lambda hit: (-hit[2], hit[0], hit[1]))


def same(hits, truth):
    assert [(hit.item, hit.position) for hit in hits] == [hit[:2] for hit in truth]
    assert [hit.score for hit in hits] == pytest.approx([hit[2] for hit in truth], abs=1e-4)
    return True


@pytest.mark.parametrize("seed", range(3))
def test_both_directions_rank_as_brute_force_while_items_come_and_go(
    catalog, collection, index, entry, random, image_bag, sentence_bag, seed
):
    random.manual_seed(seed)
    truth: dict[str, Entry] = {}
    for step in range(12):
        for number in torch.randint(0, 40, (8,), generator=random).tolist():
            one = entry(f"{number}", sentences=1 + number % 3, picture=number % 4 > 0)
            catalog.put(collection, one)
            truth[one.id] = one
        for number in torch.randint(0, 40, (3,), generator=random).tolist():
            if truth.pop(f"{number}", None):
                catalog.delete(collection, f"{number}")
        if step % 4 == 3:  # a process that starts afresh over what the others left
            index = Index(catalog, collection, index._segments._directory.parent, sizes=TINY)
        text, photo = sentence_bag(4), image_bag(5)
        assert same(
            index.search_images(Query.of(text), limit=100), brute_images(truth.values(), text)
        )
        assert same(
            index.search_sentences(Query.of(photo), limit=100),
            brute_sentences(truth.values(), photo),
        )


def test_image_to_image_and_text_to_text_let_the_query_be_the_sentence(
    catalog, collection, index, entry, image_bag, sentence_bag
):
    entries = [entry(f"{i}") for i in range(9)]
    catalog.put_many(collection, entries)
    photo, text = image_bag(5), sentence_bag(4)
    assert same(index.search_images(Query.of(photo), limit=100), brute_images(entries, photo))
    rows = [
        (one.id, position, score(bag, text))
        for one in entries
        for position, bag in enumerate(one.bags)
    ]
    rows.sort(key=lambda hit: -hit[2])
    assert same(index.similar_sentences(Query.of(text), limit=100), rows)


def test_put_is_found_by_the_next_search(catalog, collection, index, entry, sentence_bag):
    query = sentence_bag()
    assert index.search_images(Query.of(query), limit=5) == []
    catalog.put(collection, entry("a"))
    assert [hit.item for hit in index.search_images(Query.of(query), limit=5)] == ["a"]


def test_deleted_item_is_gone_from_the_next_search(
    catalog, collection, index, entry, sentence_bag, image_bag
):
    catalog.put_many(collection, [entry("a"), entry("b")])
    index.search_images(Query.of(sentence_bag()), limit=5)
    catalog.delete(collection, "a")
    assert [hit.item for hit in index.search_images(Query.of(sentence_bag()), limit=5)] == ["b"]
    assert {hit.item for hit in index.search_sentences(Query.of(image_bag()), limit=5)} == {"b"}


def test_replaced_item_is_found_by_what_it_is_now(catalog, collection, index, entry, sentence_bag):
    catalog.put(collection, entry("a"))
    index.search_images(Query.of(sentence_bag()), limit=5)
    now = entry("a")
    catalog.put(collection, now)
    (hit,) = index.search_images(Query.of(sentence_bag()), limit=5)
    assert torch.equal(hit.bag.vectors, now.image.vectors)


def test_links_add_up_to_the_score_in_both_directions(
    catalog, collection, index, entry, sentence_bag, image_bag
):
    catalog.put_many(collection, [entry(f"{i}") for i in range(20)])
    text, photo = sentence_bag(5), image_bag(5)
    for hits, sides in (
        (index.search_images(Query.of(text), limit=50), lambda hit: (text, hit.bag)),
        (index.search_sentences(Query.of(photo), limit=50), lambda hit: (hit.bag, photo)),
    ):
        for hit in hits:
            sentence, image = sides(hit)
            assert [link.fragment for link in hit.links] == list(range(len(sentence)))
            assert sum(link.similarity for link in hit.links) == pytest.approx(hit.score, abs=1e-4)
            for link in hit.links:
                product = sentence.vectors[link.fragment] @ image.vectors[link.region]
                assert link.similarity == pytest.approx(float(product), abs=1e-4)


def test_links_of_a_mean_of_positives_add_up_too(catalog, entry, sentence_bag, image_bag, tmp_path):
    named = {"fingerprint": "model-a", "dimension": 8, "score": "mean_of_positive"}
    collection = catalog.collection("means", **named)
    catalog.put_many(collection, [entry(f"{i}") for i in range(9)])
    index = Index(catalog, collection, tmp_path / "segments", sizes=TINY)
    hits = index.search_images(Query.of(sentence_bag(5)), limit=9)
    hits += index.search_sentences(Query.of(image_bag(5)), limit=9)
    assert len(hits) > 9
    for hit in hits:
        assert sum(link.similarity for link in hit.links) == pytest.approx(hit.score, abs=1e-4)
        assert all(link.similarity > 0 for link in hit.links)


def test_what_a_query_negates_is_subtracted_exactly(
    catalog, collection, index, entry, sentence_bag
):
    entries = [entry(f"{i}") for i in range(30)]
    catalog.put_many(collection, entries)
    asked, negated = sentence_bag(3), sentence_bag(2)
    hits = index.search_images(Query((asked, negated), (2.0, -0.5)), limit=100)

    def there(image):
        return float((image.vectors @ negated.vectors.T).amax(0).clamp_min(0).sum())

    truth = [
        (one.id, None, 2 * score(one.image, asked) - 0.5 * there(one.image)) for one in entries
    ]
    assert same(hits, sorted(truth, key=lambda hit: -hit[2]))
    for hit in hits:
        assert sum(link.similarity for link in hit.links) == pytest.approx(hit.score, abs=1e-4)
        assert [link.negated for link in hit.links] == [False] * 3 + [True] * 2
        assert all(link.similarity <= 0 for link in hit.links if link.negated)


def test_hit_brings_its_own_boxes_and_labels(catalog, collection, index, entry, sentence_bag):
    given = entry("a")
    catalog.put(collection, given)
    (hit,) = index.search_images(Query.of(sentence_bag()), limit=1)
    assert hit.bag.labels == given.image.labels
    assert [box.right for box in hit.bag.places] == pytest.approx(
        [box.right for box in given.image.places]
    )


def test_filter_ranks_the_allowed_items_as_brute_force(
    catalog, collection, index, entry, sentence_bag, image_bag
):
    entries = [entry(f"{i:02}", metadata={"n": i % 4}) for i in range(40)]
    catalog.put_many(collection, entries)
    allowed = [one for one in entries if one.metadata["n"] in (1, 3)]
    text, photo = sentence_bag(3), image_bag(3)
    where = {"n": [1, 3]}
    assert same(
        index.search_images(Query.of(text), limit=7, where=where), brute_images(allowed, text)[:7]
    )
    sentences = brute_sentences(allowed, photo)[:7]
    assert same(index.search_sentences(Query.of(photo), limit=7, where=where), sentences)
    assert index.search_images(Query.of(text), limit=7, where={"n": 9}) == []


def test_equal_scores_come_by_id_then_position_on_every_page(
    catalog, collection, index, entry, sentence_bag, image_bag
):
    one = entry("x", sentences=2)
    alike = replace(one, bags=(one.bags[0], one.bags[0]))
    ids = ["b", "ä", "a", "a/1", "Z", "10", "9"]
    for item in ids:
        catalog.put(collection, replace(alike, id=item))
    pages = [
        hit.item
        for offset in range(0, 8, 3)
        for hit in index.search_images(Query.of(sentence_bag(1)), limit=3, offset=offset)
    ]
    assert sorted(pages) == sorted(ids)
    text = sentence_bag(2)
    assert [hit.item for hit in index.search_images(Query.of(text), limit=9)] == sorted(ids)
    hits = index.search_sentences(Query.of(image_bag()), limit=20)
    assert [(hit.item, hit.position) for hit in hits] == [
        (i, p) for i in sorted(ids) for p in (0, 1)
    ]


def test_pages_follow_on_without_overlap(catalog, collection, index, entry, sentence_bag):
    catalog.put_many(collection, [entry(f"{i}") for i in range(25)])
    query = sentence_bag(3)
    whole = [hit.item for hit in index.search_images(Query.of(query), limit=100)]
    pages = [
        index.search_images(Query.of(query), limit=10, offset=offset) for offset in (0, 10, 20, 30)
    ]
    assert [hit.item for page in pages for hit in page] == whole
    assert [len(page) for page in pages] == [10, 10, 5, 0]


def test_query_that_does_not_fit_is_refused(index, sentence_bag):
    with pytest.raises(ValueError, match=r"query's vectors have 5 numbers.*holds vectors of 8"):
        index.search_images(Query.of(sentence_bag(2, dimension=5)), limit=1)
    with pytest.raises(ValueError, match="no fragments"):
        index.search_images(Query.of(FragmentBag(torch.ones(0, 8), (), ())), limit=1)
    with pytest.raises(ValueError, match="no fragments"):
        index.search_images(Query((), ()), limit=1)
    nan = FragmentBag(torch.full((1, 8), float("nan")), (Span(0, 1),), ("a",))
    with pytest.raises(ValueError, match="not finite"):
        index.search_images(Query.of(nan), limit=1)
    with pytest.raises(ValueError, match="limit starts at 1 and offset at 0, got 0 and -1"):
        index.search_images(Query.of(sentence_bag()), limit=0, offset=-1)


def test_query_may_come_straight_from_a_model(catalog, collection, index, entry, sentence_bag):
    catalog.put(collection, entry("a"))
    bag = sentence_bag(2)
    learned = replace(bag, vectors=bag.vectors.double().T.contiguous().T.requires_grad_())
    (hit,) = index.search_images(Query.of(learned), limit=1)
    assert hit.score == pytest.approx(
        index.search_images(Query.of(bag), limit=1)[0].score, abs=1e-5
    )


ANOTHER_PROCESS = """
import sys, torch
from pathlib import Path
from index.catalog import Catalog
from index.items import Entry
from models.types import FragmentBag, Span

catalog = Catalog.in_folder(Path(sys.argv[1]))
collection = catalog.find("default")
bag = FragmentBag(torch.ones(1, 8), (Span(0, 1),), ("a",))
catalog.put(collection, Entry("from afar", sentences=("a",), bags=(bag,)))
catalog.delete(collection, "here")
"""


def test_search_sees_what_another_process_did(
    catalog, collection, index, entry, image_bag, tmp_path
):
    catalog.put(collection, entry("here"))
    assert {hit.item for hit in index.search_sentences(Query.of(image_bag()), limit=9)} == {"here"}
    subprocess.run(  # noqa: S603 - our own lines above
        [sys.executable, "-c", ANOTHER_PROCESS, str(tmp_path / "data")],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=True,
        timeout=60,
    )
    assert {hit.item for hit in index.search_sentences(Query.of(image_bag()), limit=9)} == {
        "from afar"
    }


def test_searches_run_while_items_are_written(
    catalog, collection, index, entry, sentence_bag, image_bag
):
    entries = [entry(f"{i:02}", sentences=1) for i in range(60)]
    catalog.put_many(collection, entries[:30])
    text, photo = sentence_bag(3), image_bag(3)

    def write(step):
        catalog.put(collection, entries[30 + step])
        catalog.delete(collection, entries[step].id)
        return step

    def ask(_):
        images = index.search_images(Query.of(text), limit=100)
        sentences = index.search_sentences(Query.of(photo), limit=100)
        return len(images), len(sentences)

    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(ask, step) for step in range(30)]
        written = [pool.submit(write, step) for step in range(30)]
        assert sorted(one.result() for one in written) == list(range(30))
        # A put may be in and its delete not yet, once for each of the six threads.
        assert all(30 <= count <= 36 for one in asked for count in one.result())
    assert same(index.search_images(Query.of(text), limit=100), brute_images(entries[30:], text))


def test_two_indexes_share_a_folder_and_a_lost_folder_is_made_again(
    catalog, collection, entry, tmp_path, sentence_bag
):
    entries = [entry(f"{i:02}") for i in range(40)]
    catalog.put_many(collection, entries[:20])
    query = sentence_bag()
    folder = tmp_path / "segments"
    one, two = (Index(catalog, collection, folder, sizes=TINY) for _ in range(2))
    one.search_images(Query.of(query), limit=1)
    two.search_images(Query.of(query), limit=1)
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    catalog.put_many(collection, entries[20:])
    for index in (one, two, Index(catalog, collection, folder, sizes=TINY)):
        assert same(index.search_images(Query.of(query), limit=100), brute_images(entries, query))


def test_segments_of_another_database_are_never_taken_for_ours(tmp_path, entry, sentence_bag):
    for name, count in (("first", 30), ("second", 3)):
        catalog = Catalog.in_folder(tmp_path / name)
        collection = catalog.collection("default", fingerprint="m", dimension=8, score="sum_of_max")
        catalog.put_many(collection, [entry(f"{name} {i}") for i in range(count)])
        index = Index(catalog, collection, tmp_path / "segments", sizes=TINY)
        hits = index.search_images(Query.of(sentence_bag()), limit=100)
        catalog.close()
        assert {hit.item for hit in hits} == {f"{name} {i}" for i in range(count)}


def test_global_embedding_is_a_bag_of_one(catalog, collection, index):
    for item, vector in (("near", 1.0), ("far", -1.0)):
        vectors = torch.full((1, 8), vector)
        bag = FragmentBag(vectors, (Box(0.0, 0.0, 1.0, 1.0),), ("whole photo",))
        catalog.put(collection, Entry(item, picture=Picture(b"j", 1, 1, "d"), image=bag))
    query = FragmentBag(torch.ones(1, 8), (Span(0, 3),), ("dog",))
    hits = index.search_images(Query.of(query), limit=2)
    assert [(hit.item, hit.score) for hit in hits] == [("near", 8.0), ("far", -8.0)]
