"""Items get other places and metadata; ids are any text."""

from __future__ import annotations

import random

import pytest
import torch

from index.catalog.reader import SourceRow
from index.catalog.restating import Restatement, restate
from index.items import LONGEST_ID, Picture, Replaced


def restatement(catalog, collection, name, **options):
    item = catalog.get(collection, name)
    return Restatement(item, f"/new/{name}", "stamp 2", {"price": 2}, **options)


def test_place_stamp_and_metadata_change_and_vectors_stay(catalog, collection, entry):
    catalog.put_many(collection, [entry("a", source="/old/a"), entry("b", source="/old/b")])
    before = catalog.entry(collection, "a")
    changes = [restatement(catalog, collection, name) for name in "ab"]
    assert restate(catalog, collection, changes, "default") == [True, True]
    after = catalog.entry(collection, "a")
    assert (after.source, after.stamp, after.metadata) == ("/new/a", "stamp 2", {"price": 2})
    assert (after.pictures, after.sentences) == (before.pictures, before.sentences)
    assert torch.equal(after.images[0].vectors, before.images[0].vectors)
    assert [item.id for item in catalog.list_items(collection, where={"price": 2})] == ["a", "b"]
    assert catalog.stamps(collection, ["/old/a", "/new/a"]) == {"/new/a": "stamp 2"}


def test_items_that_changed_since_and_other_pictures_stay(catalog, collection, entry):
    catalog.put_many(collection, [entry(name, source=name) for name in "abc"])
    other = (Picture(b"another", 4, 3, "0" * 64),)
    changes = [
        restatement(catalog, collection, "a"),
        restatement(catalog, collection, "b", pictures=other),
        restatement(catalog, collection, "c", pictures=catalog.entry(collection, "c").pictures),
    ]
    catalog.replace(collection, entry("a", metadata={"mine": 1}, source="a"))
    assert restate(catalog, collection, changes, "default") == [False, False, True]
    sources = [catalog.get(collection, name).source for name in "abc"]
    assert sources == ["a", "b", "/new/c"]
    assert restate(catalog, collection, changes[:2], "default") == [False, False]


def test_nothing_is_restated_in_a_collection_that_lost_its_name(catalog, collection, entry):
    catalog.replace(collection, entry("a"))
    change = restatement(catalog, collection, "a")
    catalog.names.rename("default", "other")
    with pytest.raises(Replaced):
        restate(catalog, collection, [change], "default")
    assert catalog.get(collection, "a").stamp is None


def test_ids_of_any_text_are_listed_by_code_point(catalog, collection, entry):
    draw = random.Random(0)
    signs = [*map(chr, range(1, 0xD800)), *map(chr, range(0xE000, 0x11000))]
    ids = [
        "".join(draw.choices(signs, k=LONGEST_ID)).encode()[:LONGEST_ID].decode(errors="ignore")
        for _ in range(20)
    ]
    ids += ["\n", " ", "\u202fPM", "\x7f", "\ufeff", "a\u0301", "á", "A", "a", "\U0001f468\u200d"]
    catalog.put_many(collection, [entry(name, photos=0, source=f"/p/{name}") for name in ids])
    listed = []
    while page := catalog.list_items(collection, after=listed[-1] if listed else "", limit=7):
        listed += [item.id for item in page]
    assert listed == sorted(ids)
    rows = catalog.list_sources(collection, "/p/", limit=99)
    assert [(row.id, row.source) for row in rows] == [(i, f"/p/{i}") for i in listed]
    assert catalog.get_many(collection, ids).keys() == set(ids)


def test_sources_are_listed_by_a_prefix_as_it_is(catalog, collection, entry):
    for name, source in (
        ("a", "/P_1/x"),
        ("b", "/p_1/x"),
        ("c", "/p%1/x"),
        ("d", "/p_1"),
        ("e", None),
    ):
        catalog.replace(collection, entry(name, source=source))
    assert catalog.list_sources(collection, "/p_1/") == [SourceRow("b", "/p_1/x", None, 2)]


def test_an_older_item_with_the_same_source_is_displaced(catalog, collection, entry):
    for name, source in (("a", "/p/x"), ("b", "/p/y"), ("c", "/p/x"), ("d", None), ("e", None)):
        catalog.replace(collection, entry(name, source=source))
    assert catalog.list_displaced(collection, "/p/") == ["a"]
    assert catalog.list_displaced(collection, "/q/") == []
    assert catalog.ids_at(collection, ["/p/x", "/p/z"]) == {"/p/x": "c"}
