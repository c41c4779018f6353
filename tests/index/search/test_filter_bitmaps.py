"""Filters: matching revisions, kept and brought up to date."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.conditions import Equals
from index.search import filter_bitmaps as filters
from index.search.filter_bitmaps import Filters
from index.search.shortlist import mask_rows
from index.segments import rows
from models.scores.scoring import SCORES


@pytest.fixture
def kept(catalog, collection):
    return Filters(catalog, collection)


@pytest.fixture
def coloured(catalog, collection, entry):
    colours = ["red", "blue", "red", ["red", "green"], None]
    catalog.put_many(
        collection,
        [entry(f"{i}", metadata={"colour": one, "i": i}) for i, one in enumerate(colours)],
    )


@pytest.mark.parametrize(
    ("where", "revisions"),
    [
        ({"colour": "red"}, [1, 3, 4]),
        ({"colour": ["blue", "green"]}, [2, 4]),
        ({"colour": ["red", "green"], "i": [0, 3.0, 4]}, [1, 4]),
        ({"colour": None}, [5]),
        ({"colour": "black"}, []),
        ({"colour": []}, []),
        ({"absent": 1}, []),
    ],
)
def test_revisions_carry_any_value_of_every_key(kept, coloured, where, revisions):
    for _ in range(2):
        assert kept.matching(where, 5).tolist() == revisions


def test_filter_answers_as_the_catalog_does(catalog, collection, kept, entry):
    for step in range(12):
        catalog.put_many(
            collection, [entry(f"{(7 * step + i) % 20}", metadata={"n": i % 3}) for i in range(4)]
        )
        if step % 3 == 2:
            catalog.delete(collection, catalog.list_items(collection)[0].id)
        newest = catalog.revision(collection)
        for where in ({"n": 1}, {"n": [0, 2]}):
            truth = {one.revision for one in catalog.list_items(collection, where=where)}
            found = set(kept.matching(where, newest).tolist())
            with catalog.reading(collection) as view:
                assert found & set(view.revisions().tolist()) == truth


def test_old_bitmap_is_enough_for_an_old_snapshot(
    catalog, collection, kept, coloured, entry, monkeypatch
):
    assert kept.matching({"colour": "red"}, 5).tolist() == [1, 3, 4]
    catalog.replace(collection, entry("new", metadata={"colour": "red"}))
    with monkeypatch.context() as patch:
        patch.setattr(catalog, "reading", lambda _: pytest.fail("the catalog was asked"))
        assert kept.matching({"colour": "red"}, 5).tolist() == [1, 3, 4]
    assert kept.matching({"colour": "red"}, 6).tolist() == [1, 3, 4, 6]


def test_bitmaps_that_are_used_least_are_forgotten(kept, coloured, monkeypatch):
    monkeypatch.setattr(filters, "MOST", 2)
    for value in ("red", "blue", "red", "green"):
        kept.matching({"colour": value}, 5)
    assert list(kept._cache) == [Equals("colour", ('"red"',)), Equals("colour", ('"green"',))]


def test_odd_filter_is_refused(kept, coloured):
    with pytest.raises(ValueError, match="takes gt, gte"):
        kept.matching({"colour": {"x": 1}}, 5)


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=20).map(sorted),
    st.lists(st.integers(1, 60), unique=True).map(sorted),
    st.sampled_from([1, 10**7]),
)
def test_rows_pass_that_live_and_have_a_revision(revisions, matching, stretch):
    count = len(revisions)
    numbers = np.array(revisions, np.int64) * stretch
    held = rows.of_vectors(
        [np.ones((1, 2), np.float32)] * count, numbers, [0] * count, "images",
        SCORES["sum_of_max"], 2,
    ).without(numbers[:1])  # fmt: skip
    expected = [one in matching and one != revisions[0] for one in revisions]
    assert mask_rows(held, np.array(matching, np.int64) * stretch).tolist() == expected
    assert mask_rows(held, None).tolist() == held.live.tolist()


def test_nothing_passes_where_there_are_no_rows():
    assert mask_rows(rows.empty(4), np.array([1])).tolist() == []
