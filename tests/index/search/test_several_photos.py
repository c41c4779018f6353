"""Items of several photos: stored, found, copied, deleted together."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from sqlalchemy import delete

from index.backup.checks.items import check_items
from index.backup.snapshots import restore, snapshot
from index.bags import photo_at
from index.catalog import edits as editing
from index.catalog import reembedding
from index.catalog.catalog import Catalog
from index.catalog.pictures import name_of
from index.database.tables import pictures
from index.items import Picture
from index.search.index import Index
from index.search.requests import Request
from models.scores.calibration import Calibration
from models.text.queries import Query
from models.types import Box, FragmentBag, Span


@pytest.fixture
def album(catalog, collection, entry):
    """An item of three photos and pictures, and a single one."""
    jpegs = (b"front", b"back", b"sole")
    shown = tuple(Picture(jpeg, 4, 3, name_of(jpeg)) for jpeg in jpegs)
    shoe = replace(entry("shoe", photos=3, metadata={"n": 1}), pictures=shown)
    catalog.put_many(collection, [shoe, entry("hat")])
    return catalog


def jpegs(catalog, collection, item="shoe"):
    return [picture.jpeg for picture in catalog.entry(collection, item).pictures]


def nothing(*_):
    """Progress without a reader."""


def test_photos_come_back_in_order_with_their_bags(album, collection):
    item = album.get(collection, "shoe")
    assert [photo.digest for photo in item.photos] == [
        name_of(jpeg) for jpeg in (b"front", b"back", b"sole")
    ]
    assert album.picture(collection, "shoe", 2).jpeg == b"sole"
    with pytest.raises(LookupError, match="no photo 3; its last one is 2"):
        album.picture(collection, "shoe", 3)
    bags = album.bags(collection, [(item.revision, -1), (item.revision, -3)])
    entry = album.entry(collection, "shoe")
    for (_, position), bag in bags.items():
        assert torch.equal(bag.bag.vectors, entry.images[photo_at(position)].vectors)


def test_an_item_is_found_once_by_its_best_photo_page_after_page(
    catalog, collection, index, entry, right
):
    catalog.put_many(
        collection, [entry(f"{n:02}", sentences=0, photos=1 + n % 4) for n in range(30)]
    )
    for exact in (True, False):
        query = FragmentBag(torch.ones(2, 8), (Span(0, 1), Span(2, 3)), ("a", "b"))
        request = Request("images", Query((query,), (1.0,), "a b"), limit=7, exact=exact)
        whole = replace(request, limit=99)
        every = index.best(whole)
        assert right(whole, every)
        found, after = [], request
        while answer := index.best(after).hits:
            found += answer
            after = request.behind(answer[-1], len(found))
        assert [hit.key for hit in found] == [hit.key for hit in every.hits]
        assert len({hit.item for hit in found}) == 30
        assert len({hit.position for hit in found}) > 1
        for hit in found:
            assert sum(link.similarity for link in hit.links) == pytest.approx(hit.score, abs=1e-4)


def test_patch_chooses_among_photos_and_adds_new_ones(album, collection, image_bag):
    bags = album.entry(collection, "shoe").images
    new = Picture(b"side", 4, 3, name_of(b"side")), image_bag(2)
    editing.patch(album, collection, "shoe", editing.Change({"n": 2}, [2, new, 0]))
    after = album.entry(collection, "shoe")
    assert jpegs(album, collection) == [b"sole", b"side", b"front"]
    assert after.metadata == {"n": 2}
    assert len(after.sentences) == 2
    assert torch.equal(after.images[0].vectors, bags[2].vectors)
    assert torch.equal(after.images[2].vectors, bags[0].vectors)
    assert not list(check_items(album, collection, nothing))
    editing.patch(album, collection, "shoe", editing.Change(photos=[]))
    assert jpegs(album, collection) == []
    with pytest.raises(LookupError, match="sentences but no picture"):
        editing.patch(album, collection, "shoe", editing.Change(photos=[0]))


def test_pictures_go_with_the_item_once_nobody_reads_it(album, collection):
    album.delete(collection, "shoe")
    assert len(list(album.pictures.names())) == 4
    album.purge(collection, album.revision(collection))
    assert list(album.pictures.names()) == [name_of(b"jpeg")]


def test_snapshot_and_reembedding_keep_every_photo(album, collection, tmp_path):
    snapshot(album, tmp_path / "a.tar", nothing)
    other = Catalog.in_folder(tmp_path / "other")
    restore(other, tmp_path / "a.tar", tmp_path / "other", nothing)
    home = other.names.find("default")
    assert jpegs(other, home) == [b"front", b"back", b"sole"]

    def embed_again(entries):
        return [
            replace(
                one,
                images=tuple(replace(bag, vectors=bag.vectors[:, :3]) for bag in one.images),
                bags=tuple(replace(bag, vectors=bag.vectors[:, :3]) for bag in one.bags),
            )
            for one in entries
        ]

    options = {"fingerprint": "b", "dimension": 3, "score": "sum_of_max"}
    new = reembedding.reembed(other, "default", embed=embed_again, progress=nothing, **options)
    assert jpegs(other, new) == [b"front", b"back", b"sole"]
    assert not list(check_items(other, new, nothing))
    other.close()


def test_check_tells_which_photo_is_wrong(album, collection):
    album.pictures.delete([name_of(b"back")])
    told = [finding.problem for finding in check_items(album, collection, nothing)]
    assert told == ["its picture 1 is missing or damaged; put it again"]
    with album.writer.begin() as connection:
        connection.execute(delete(pictures).where(pictures.c.position == -3))
    assert any(
        "should begin with -2" in one.problem for one in check_items(album, collection, nothing)
    )


def test_no_page_loses_an_item_whose_better_photo_is_not_probable_enough(
    catalog, collection, entry, segments_folder
):
    shown = {"a": [(9.0, 0.4), (3.0, 3.0)], "b": [(4.0, 4.0)]}  # what each photo gives two phrases
    for item, photos in shown.items():
        vectors = [torch.tensor([[*photo, *[0.0] * 6]]) for photo in photos]
        bags = tuple(FragmentBag(one, (Box(0, 0, 1, 1),), ("region",)) for one in vectors)
        catalog.replace(
            collection, replace(entry(item, sentences=0, photos=len(bags)), images=bags)
        )
    phrases = tuple(
        FragmentBag(one[None], (Span(2 * at, 2 * at + 1),), (label,))
        for at, (one, label) in enumerate(zip(torch.eye(8)[:2], "ab", strict=True))
    )
    coefficients = torch.tensor([[1.0, 0.0, 0.0, 0.0]] * 3)
    calibration = Calibration(torch.zeros(1, 8), torch.zeros(1, 8), coefficients, 0.5)
    index = Index(catalog, collection, segments_folder, calibration=calibration)
    first = Request("images", Query(phrases, (1.0, 1.0), "a b"), limit=1, least=0.6)
    (hit,) = index.best(first).hits
    rest = index.best(first.behind(hit, 1)).hits
    index.close()
    assert [(one.item, photo_at(one.position)) for one in (hit, *rest)] == [("b", 0), ("a", 1)]
