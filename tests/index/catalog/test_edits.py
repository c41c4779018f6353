"""Metadata changes without its photo, and many items go at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from index.catalog import edits as editing
from index.catalog.edits import Change, ItemSelection, count, delete, merge, patch
from index.items import ITEM_TEXT, MOST_KEYS, ConditionFailed, Dropped, Expected
from index.search.requests import Request
from models.text.queries import Query


@pytest.mark.parametrize(
    ("target", "change", "result"),
    [  # RFC 7396, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_patches_merge_as_the_standard_says(target, change, result):
    assert merge(target, change) == result


JSON = st.recursive(
    st.integers() | st.text(max_size=3) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(JSON, JSON)
def test_a_patch_without_nulls_is_idempotent(target, change):
    once = merge(target, change)
    assert merge(once, change) == once


@pytest.fixture
def filled(catalog, collection, entry):
    catalog.put_many(
        collection, [entry(f"{i:02}", metadata={"n": i, "even": i % 2 == 0}) for i in range(20)]
    )
    return catalog


def test_patch_changes_the_metadata_alone(filled, collection):
    before = filled.entry(collection, "03")
    item = patch(filled, collection, "03", Change({"n": None, "more": {"deep": [1]}}))
    after = filled.entry(collection, "03")
    assert after.metadata == item.metadata == {"even": False, "more": {"deep": [1]}}
    assert (item.id, item.revision, item.sentences) == ("03", 21, before.sentences)
    assert (after.pictures[0], after.sentences) == (before.pictures[0], before.sentences)
    for one, other in zip(
        (after.images[0], *after.bags), (before.images[0], *before.bags), strict=True
    ):
        assert torch.equal(one.vectors, other.vectors)
        assert (one.labels, one.places) == (other.labels, other.places)
    assert filled.revision(collection) == 21


def test_patch_reaches_searches_and_their_filters(filled, collection, index, follow, right):
    query = Query.of(filled.entry(collection, "05").bags[0])

    def asked(**where):
        return Request("images", query, limit=30, where=where)

    assert len(index.best(asked(even=True)).hits) == 10
    follow()
    patch(filled, collection, "05", Change({"even": True}))
    patch(filled, collection, "06", Change({"even": None}))
    for _ in range(2):
        found = index.best(asked(even=True))
        assert right(asked(even=True), found)
        assert {"05"} < {hit.item for hit in found.hits}
        assert "06" not in {hit.item for hit in found.hits}
        follow()


def test_picture_is_neither_read_nor_lost(filled, collection, monkeypatch):
    monkeypatch.setattr(filled.pictures, "get", pytest.fail)
    revision = patch(filled, collection, "01", Change({"n": 0})).revision
    monkeypatch.undo()
    for number in range(20):
        if number != 1:
            filled.delete(collection, f"{number:02}")
    filled.purge(collection, revision + 19)
    filled.sweep()
    assert filled.picture(collection, "01").jpeg == b"jpeg"


def test_patch_of_what_is_not_there_changes_nothing(filled, collection):
    with pytest.raises(LookupError, match="no item 'x'"):
        patch(filled, collection, "x", Change({"n": 1}))
    with pytest.raises(ValueError, match="NUL"):
        patch(filled, collection, "01", Change({"n": "\0"}))
    assert filled.revision(collection) == 20


def test_change_is_made_at_the_expected_revision_only(filled, collection, entry):
    revision = patch(
        filled, collection, "01", Change({"n": 9}), Expected({21 - 19}, but=False)
    ).revision
    for change in (
        lambda expected: patch(filled, collection, "01", Change({"n": 1}), expected),
        lambda expected: filled.replace(collection, entry("01"), expected),
        lambda expected: filled.delete(collection, "01", expected),
    ):
        with pytest.raises(ConditionFailed, match=f"'01' is at revision {revision}, so nothing"):
            change(Expected({2}, but=False))
    assert (filled.revision(collection), filled.get(collection, "01").metadata["n"]) == (21, 9)
    assert filled.replace(collection, entry("01"), Expected({21}, but=False)) == (22, 21)
    assert filled.delete(collection, "01", Expected({22}, but=False)) == 23


def test_item_can_be_made_only_where_there_is_none(filled, collection, entry):
    absent, present = Expected({0}, but=False), Expected({0})
    assert filled.replace(collection, entry("new"), absent) == (21, 0)
    with pytest.raises(ConditionFailed):
        filled.replace(collection, entry("new"), absent)
    with pytest.raises(ConditionFailed, match="'newer' is not there"):
        filled.replace(collection, entry("newer"), present)
    assert filled.replace(collection, entry("new"), present) == (22, 21)


def test_no_patch_is_lost_among_many_at_once(filled, collection):
    """Eight threads each set their own keys of the same items."""

    def work(thread):
        for number in range(5):
            patch(filled, collection, f"{number:02}", Change({f"key {thread}": number}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    for number in range(5):
        metadata = filled.get(collection, f"{number:02}").metadata
        assert {f"key {thread}": number for thread in range(8)}.items() <= metadata.items()
    assert filled.revision(collection) == 20 + 40


def test_one_of_many_conditional_changes_wins(filled, collection):
    def change(thread):
        try:
            patch(filled, collection, "01", Change({"winner": thread}), Expected({2}, but=False))
        except ConditionFailed:
            return None
        return thread

    with ThreadPoolExecutor(8) as pool:
        winners = [one for one in pool.map(change, range(8)) if one is not None]
    assert [filled.get(collection, "01").metadata["winner"]] == winners


def test_deletion_does_not_go_on_in_what_has_the_name_next(filled, collection, monkeypatch):
    monkeypatch.setattr(editing, "BATCH", 2)

    def drop(_: float) -> None:
        filled.names.drop(collection.name)

    monkeypatch.setattr(editing.time, "sleep", drop)
    with pytest.raises(Dropped, match="2 items were deleted before"):
        delete(filled, collection, ItemSelection(where={"even": True}))


def test_items_are_deleted_by_ids_and_by_filter(filled, collection):
    some = ItemSelection(ids=["00", "01", "01", "no such"])
    assert (count(filled, collection, some), filled.count(collection)) == (2, 20)
    assert delete(filled, collection, some) == 2
    even = ItemSelection(where={"even": True, "n": list(range(10))})
    assert count(filled, collection, even) == 4
    assert (delete(filled, collection, even), delete(filled, collection, even)) == (4, 0)
    assert [item.metadata["n"] for item in filled.list_items(collection)] == [
        3,
        5,
        7,
        9,
        *range(10, 20),
    ]


def test_many_items_go_in_short_transactions(filled, collection, monkeypatch):
    monkeypatch.setattr(editing, "BATCH", 3)
    monkeypatch.setattr(editing, "PAUSE", 0.0)
    before = filled.revision(collection)
    assert delete(filled, collection, ItemSelection(where={"even": False})) == 10
    with filled.reading(collection) as view:
        marks = {view.mark(revision) for revision in range(before + 1, before + 11)}
    assert len(marks) == 4
    assert filled.read_acknowledged(collection) == before + 10


def test_deletion_leaves_what_is_put_meanwhile(filled, collection, entry, monkeypatch):
    monkeypatch.setattr(editing, "BATCH", 2)
    monkeypatch.setattr(editing.time, "sleep", lambda _: filled.replace(collection, late)[0])
    late = entry("late", metadata={"even": True})
    assert delete(filled, collection, ItemSelection(where={"even": True})) == 10
    assert filled.get(collection, "late").metadata == {"even": True}


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        ({}, "either ids or a filter"),
        ({"ids": ["a"], "where": {"a": 1}}, "either ids or a filter"),
        ({"where": {}}, "no condition"),
        ({"ids": ["a\0"]}, "an id: NUL"),
    ],
)
def test_what_to_delete_must_be_said(chosen, reason):
    with pytest.raises(ValueError, match=reason):
        ItemSelection(**chosen)


def test_put_races_delete_and_patch(filled, collection, entry):
    """In any order, only missing items fail, and history is whole."""
    stop = threading.Event()
    failures = []

    def repeat(change):
        while not stop.is_set():
            try:
                change()
            except LookupError:
                pass
            except Exception as failure:
                failures.append(failure)
                raise

    changes = [
        lambda: filled.replace(collection, entry("01"))[0],
        lambda: filled.delete(collection, "01"),
        lambda: patch(filled, collection, "01", Change({"n": 1})),
        lambda: delete(filled, collection, ItemSelection(ids=["01"])),
    ]
    with ThreadPoolExecutor(4) as pool:
        work = [pool.submit(repeat, change) for change in changes]
        threading.Timer(2.0, stop.set).start()
        for one in work:
            one.result()
    assert failures == []
    with filled.reading(collection) as view:
        live, retired = set(view.revisions().tolist()), view.list_retired(0).tolist()
    assert len(retired) == len(set(retired))
    assert not live & set(retired)


def test_stamp_stays_changes_or_goes(filled, collection):
    assert patch(filled, collection, "01", Change(stamp="x")).stamp == "x"
    assert patch(filled, collection, "01", Change({"n": 1})).stamp == "x"
    assert patch(filled, collection, "01", Change(stamp=None)).stamp is None


def test_a_patch_cannot_make_an_item_larger_than_a_put_could(filled, collection):
    before = filled.get(collection, "03")
    many = {f"k{number}": 1 for number in range(MOST_KEYS)}
    patch(filled, collection, "03", Change(many | dict.fromkeys(before.metadata)))
    with pytest.raises(ValueError, match="1,001 keys in its metadata; 1,000 at most"):
        patch(filled, collection, "03", Change({"one more": 1}))
    patch(filled, collection, "03", Change({"one more": 1, "k0": None}))
    with pytest.raises(ValueError, match="bytes of metadata and sentences"):
        patch(filled, collection, "03", Change({"one more": "x" * ITEM_TEXT}))
    assert filled.get(collection, "03").metadata["one more"] == 1


def test_an_item_that_an_earlier_version_let_grow_still_changes_otherwise(
    filled, collection, monkeypatch
):
    monkeypatch.setattr(editing, "check_size", lambda *_, **__: None)
    many = {f"k{number}": 1 for number in range(MOST_KEYS + 1)}
    patch(filled, collection, "03", Change(many))
    monkeypatch.undo()
    assert patch(filled, collection, "03", Change(stamp="new")).stamp == "new"
    with pytest.raises(ValueError, match="keys in its metadata"):
        patch(filled, collection, "03", Change({"k1": 2}))
    assert patch(filled, collection, "03", Change(None)).metadata == {}
