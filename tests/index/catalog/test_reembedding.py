from dataclasses import replace

import pytest
import torch
from sqlalchemy import event, update

from index.catalog import reembedding
from index.catalog.reembedding import reembed
from index.database.errors import Damaged
from index.database.tables import items
from index.items import ModelMismatch
from index.search.index import Index
from index.search.requests import Request
from models.text.queries import Query

WANTED = {"fingerprint": "model-b", "dimension": 3, "score": "sum_of_max"}


def embedded(entries):
    """The entries by model-b: all ones, in three dimensions."""

    def embed_again(bag):
        return None if bag is None else replace(bag, vectors=torch.ones(len(bag), 3))

    return [
        replace(
            one,
            images=tuple(embed_again(bag) for bag in one.images),
            bags=tuple(embed_again(bag) for bag in one.bags),
        )
        for one in entries
    ]


def silent(done, total):
    assert done <= total


@pytest.fixture
def filled(catalog, collection, entry):
    catalog.put_many(collection, [entry(f"{i}", metadata={"n": i}) for i in range(10)])
    catalog.replace(collection, entry("3", sentences=1, metadata={"n": 33}))
    catalog.delete(collection, "4")
    return catalog


def test_reembedded_items_have_new_bags_and_nothing_else_changed(filled, collection):
    before = filled.list_items(collection)
    new = reembed(filled, "default", **WANTED, embed=embedded, progress=silent, batch=3)
    after = filled.list_items(new)
    assert [replace(item, revision=0) for item in after] == [
        replace(item, revision=0) for item in before
    ]
    assert filled.entry(new, "3").images[0].vectors.unique().tolist() == [1.0]
    assert filled.picture(new, "3") == filled.entry(new, "3").pictures[0]
    assert filled.list_items(new, where={"n": 33})[0].id == "3"


def test_collection_of_the_same_model_is_left_alone(filled, collection):
    same = {"fingerprint": "model-a", "dimension": 8, "score": "sum_of_max"}
    assert reembed(filled, "default", **same, embed=pytest.fail, progress=silent) == collection


def test_interrupted_reembedding_resumes_and_serves_meanwhile(filled, collection, tmp_path, entry):
    seen = []

    def interrupted(entries):
        if seen:
            raise KeyboardInterrupt
        seen.extend(one.id for one in entries)
        return embedded(entries)

    with pytest.raises(KeyboardInterrupt):
        reembed(filled, "default", **WANTED, embed=interrupted, progress=silent, batch=4)
    assert [one.name for one in filled.names.all()] == ["default"]
    query = filled.entry(collection, "1").bags[0]
    answer = Index(filled, collection, tmp_path).best(Request("images", Query.of(query), limit=20))
    assert len(answer.hits) == 9

    filled.replace(collection, entry("late"))
    filled.delete(collection, seen[0])

    def remembered(entries):
        seen.extend(one.id for one in entries)
        return embedded(entries)

    new = reembed(filled, "default", **WANTED, embed=remembered, progress=silent, batch=4)
    assert len(seen) == len(set(seen)) == 10
    assert {one.id for one in filled.list_items(new)} == set(seen) - {seen[0]}


def test_changes_made_while_it_runs_are_taken_over(filled, collection, entry):
    changes = iter([lambda: filled.replace(collection, entry("0"))[0], None])

    def busy(entries):
        if change := next(changes, None):
            change()
            filled.delete(collection, "1")
        return embedded(entries)

    new = reembed(filled, "default", **WANTED, embed=busy, progress=silent, batch=2)
    assert {one.id for one in filled.list_items(new)} == set("0235678") | {"9"}


def test_unfinished_work_of_a_third_model_is_dropped(filled):
    def stop(entries):
        raise KeyboardInterrupt

    other = WANTED | {"fingerprint": "model-c", "dimension": 5}
    with pytest.raises(KeyboardInterrupt):
        reembed(filled, "default", **other, embed=stop, progress=silent)
    new = reembed(filled, "default", **WANTED, embed=embedded, progress=silent)
    assert filled.names.all() == [new]
    assert filled.count(new) == 9


def test_what_another_process_has_done_meanwhile_is_not_done_again(filled, collection, entry):
    """Two processes embed at once, with changes in between."""
    finished = []

    def overtaken(entries):
        if not finished:
            finished.append(reembed(filled, "default", **WANTED, embed=embedded, progress=silent))
            (late,) = embedded([entry("0", metadata={"late": True})])
            filled.replace(finished[0], late)
            filled.delete(finished[0], "1")
        return embedded(entries)

    new = reembed(filled, "default", **WANTED, embed=overtaken, progress=silent)
    assert new == finished[0] == filled.names.find("default")
    assert filled.get(new, "0").metadata == {"late": True}
    assert "1" not in {one.id for one in filled.list_items(new)}


def test_a_third_model_that_was_faster_wins(filled):
    third = WANTED | {"fingerprint": "model-c"}

    def overtaken(entries):
        if filled.names.find("default").fingerprint == "model-a":
            reembed(filled, "default", **third, embed=embedded, progress=silent)
        return embedded(entries)

    with pytest.raises(ModelMismatch, match="was made by model model-c"):
        reembed(filled, "default", **WANTED, embed=overtaken, progress=silent)
    assert filled.count(filled.names.find("default")) == 9


def test_pictures_are_not_read_or_written_again_to_be_kept(filled, monkeypatch):
    monkeypatch.setattr(filled.pictures, "put", pytest.fail)
    new = reembed(filled, "default", **WANTED, embed=embedded, progress=silent)
    assert filled.picture(new, "3").jpeg == b"jpeg"


def test_takeover_takes_as_many_statements_for_many_items_as_for_few(catalog, collection, entry):
    statements, counts = [], []
    event.listen(catalog.reader, "before_cursor_execute", lambda *call: statements.append(call[2]))
    for size, model in ((1, "model-b"), (200, "model-c")):
        home = catalog.names.find("default")
        bags = [entry(f"{i}", sentences=1, photos=0) for i in range(size)]
        catalog.put_many(home, bags if model == "model-b" else embedded(bags))
        new = reembedding._begin(catalog, home, model, 3, "sum_of_max")
        while statements.clear() or not reembedding._take_over(catalog, home, new):
            changes = reembedding._read_changes(catalog, home, new, 100)
            reembedding._store(catalog, new, changes, embedded(changes.entries))
        counts.append(len(statements))
    assert counts[0] == counts[1] <= 10


def test_an_open_index_of_the_old_model_says_so(filled, collection, tmp_path, entry):
    index = Index(filled, collection, tmp_path)
    query = filled.entry(collection, "1").bags[0]
    index.best(Request("images", Query.of(query), limit=1))
    reembed(filled, "default", **WANTED, embed=embedded, progress=silent)
    with pytest.raises(ModelMismatch, match="another model has re-embedded it"):
        index.best(Request("images", Query.of(query), limit=1))
    with pytest.raises(ModelMismatch):
        filled.replace(collection, entry("x"))


def test_metadata_from_before_the_limit_of_depth_stops_no_reembedding(filled, collection):
    deep = '{"x": ' + "[" * 300 + "]" * 300 + "}"
    with filled.writer.begin() as connection:
        connection.execute(
            update(items).where(items.c.id == "5").values(metadata=deep, checksums=None)
        )
    shown = filled.get(collection, "5").metadata
    new = reembed(filled, "default", **WANTED, embed=embedded, progress=silent)
    assert filled.get(new, "5").metadata == shown


def test_damaged_metadata_is_not_lost_by_a_reembedding(filled, collection):
    with filled.writer.begin() as connection:
        broken = {"metadata": '{"n', "checksums": None}
        connection.execute(update(items).where(items.c.id == "5").values(**broken))
    with pytest.raises(Damaged, match="item '5' is damaged"):
        reembed(filled, "default", **WANTED, embed=embedded, progress=silent)
