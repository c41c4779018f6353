"""One language of filters: SQL, bitmaps and columns agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from index.catalog.catalog import Catalog
from index.database.storage import Storage
from index.documents.reader import DocumentReader
from index.filters import parse
from index.items import Collection, Entry
from index.search.filter_bitmaps import Filters
from models.types import FragmentBag, Span

TEXTS = ["", "a", "ab", "ab c", 'a"', "a\\", "b", "é", "\U0001f600", "\uffff", "3", "2024-01-31"]
NUMBERS = [-7, -0.5, 0, 0.25, 3, 3.0, 4.5, 1e22, 10**30, 10**299, 10**400]
scalars = st.sampled_from([*TEXTS, *NUMBERS, True, False, None, "x" * 201])
keys = st.sampled_from(["k", "l", "m"])
metadata = st.dictionaries(keys, scalars | st.lists(scalars, max_size=3), max_size=3)
bounds = st.sampled_from(["gt", "gte", "lt", "lte"])
asked = st.sampled_from([*TEXTS, *NUMBERS, True, False, None])
operators = st.one_of(
    st.dictionaries(bounds, st.sampled_from(NUMBERS[:-1]), min_size=1, max_size=2),
    st.dictionaries(bounds, st.sampled_from(TEXTS), min_size=1, max_size=2),
    st.fixed_dictionaries({"prefix": st.sampled_from(TEXTS[1:])}),
    st.fixed_dictionaries({"exists": st.booleans()}),
)
conditions = st.dictionaries(keys, asked | st.lists(asked, max_size=3) | operators, max_size=2)
filters = st.recursive(
    conditions,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$not": inner}),
        st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=3)}),
    ),
    max_leaves=4,
)


def passes(where: dict[str, Any], item: dict[str, Any]) -> bool:
    """A filter's documented meaning."""
    for key, wanted in where.items():
        if key == "$not":
            held = not passes(wanted, item)
        elif key == "$or":
            held = any(passes(one, item) for one in wanted)
        elif key == "$and":
            held = all(passes(one, item) for one in wanted)
        else:
            values = item.get(key, [])
            values = values if isinstance(values, list) else [values]
            values = [one for one in values if not (isinstance(one, str) and len(one) > 200)]
            held = holds(wanted, values)
        if not held:
            return False
    return True


def holds(wanted: Any, values: list[Any]) -> bool:
    if not isinstance(wanted, dict):
        wanted = wanted if isinstance(wanted, list) else [wanted]
        return any(kind(a) == kind(b) and a == b for a in values for b in wanted)
    if "exists" in wanted:
        return bool(values) == wanted["exists"]
    if "prefix" in wanted:
        return any(isinstance(one, str) and one.startswith(wanted["prefix"]) for one in values)
    return any(within(wanted, one) for one in values)


def within(wanted: dict[str, Any], value: Any) -> bool:
    ordered = {
        "gt": lambda a, b: a > b,
        "gte": lambda a, b: a >= b,
        "lt": lambda a, b: a < b,
        "lte": lambda a, b: a <= b,
    }
    if kind(value) not in ("number", "text") or len(str(value)) > 300:
        return False
    return all(
        kind(bound) == kind(value) and ordered[name](value, bound) for name, bound in wanted.items()
    )


def kind(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    return "text" if isinstance(value, str) else "number"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def stored(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Catalog]:
    """One database for all examples: they empty it."""
    folder: Path = tmp_path_factory.mktemp("language")
    if request.param == "sqlite":
        catalog = Catalog.in_folder(folder)
        yield catalog
        catalog.close()
        return
    with request.getfixturevalue("postgresql").database() as url:
        catalog = Catalog(Storage(folder, database=url))
        yield catalog
        catalog.close()


def collection_of(catalog: Catalog, name: str) -> Collection:
    return catalog.names.make(name, fingerprint="a", dimension=1, score="sum_of_max")


BAG = FragmentBag(torch.ones(1, 1), (Span(0, 1),), ("a",))
NAMES = iter(range(10**6))


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(metadata, min_size=1, max_size=6), st.lists(filters, min_size=1, max_size=6))
@example([{"k": 10**400}, {"k": 3}], [{"k": {"gt": 2}}, {"$not": {"k": {"lt": 9}}}])
@example([{"k": "ab"}, {"k": "ab c"}, {"k": 'a"'}], [{"k": {"gt": "ab"}}, {"k": {"lte": 'a"'}}])
def test_sql_bitmaps_columns_and_a_loop_agree(stored, items, wheres):
    home = collection_of(stored, f"c{next(NAMES)}")
    entries = [
        Entry(f"{number}", one, sentences=("a",), bags=(BAG,)) for number, one in enumerate(items)
    ]
    stored.put_many(home, entries)
    documents = DocumentReader(stored, home).current()
    bitmaps = Filters(stored, home)
    newest = stored.revision(home)
    for where in wheres:
        truth = [str(number) for number, one in enumerate(items) if passes(where, one)]
        assert [one.id for one in stored.list_items(home, where=where)] == truth
        revisions = bitmaps.matching(where, newest)
        assert [f"{revision - 1}" for revision in revisions.tolist()] == truth
        passing = documents.passing(parse(where))
        assert [documents.ids[number] for number in np.flatnonzero(passing)] == truth
