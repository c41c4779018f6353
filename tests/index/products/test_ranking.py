"""One ranking of words and looks: relevance, order, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.catalog.views import ItemRow
from index.documents.documents import Documents
from index.listing.requests import FacetRequest, ListPlace
from index.products.query import read_text
from index.products.ranking import Neighbours, rank
from index.products.requests import (
    Boost,
    Near,
    Product,
    ProductAnswer,
    ProductRequest,
    Weights,
)
from index.search.requests import Shortlist
from index.segments.rows import Numbers

WORDS = ["red", "blue", "shirt", "shoe", "oak"]
item = st.fixed_dictionaries(
    {"title": st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)},
    optional={"colour": st.sampled_from(["red", "blue"]), "price": st.integers(1, 9)},
)
items = st.lists(item, min_size=1, max_size=12)


def documents_of(metadata: list[dict[str, Any]]) -> Documents:
    documents = Documents()
    documents.add([ItemRow(at + 1, f"{at:02}", fields, ()) for at, fields in enumerate(metadata)])
    return documents


def shortlist(revisions: Numbers, chances: Any, errors: Any = 0.0) -> Shortlist:
    """A shortlist of items' photos, the first of each."""
    size = len(revisions)
    return Shortlist(revisions, np.full(size, -1), chances, np.broadcast_to(errors, size))


def asked(documents: Documents, text: str, **options: Any) -> ProductRequest:
    return ProductRequest(text=read_text(text, documents), limit=100, **options)


@given(items, st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), st.data())
def test_all_that_has_the_words_or_a_probable_photo_is_relevant_and_counted(metadata, words, data):
    documents = documents_of(metadata)
    size = len(metadata)
    gone = data.draw(st.sets(st.integers(1, size), max_size=2))
    documents.retire(np.array(sorted(gone), np.int64))
    chances = data.draw(st.lists(st.sampled_from([0.0, 0.2, 0.9]), min_size=size, max_size=size))
    photos = shortlist(np.arange(1, size + 1), np.array(chances))
    facets = (FacetRequest("colour"), FacetRequest("price", bounds=(3, 6)))
    request = asked(
        documents, " ".join(words), where={"price": {"gte": 3}}, least=0.5, facets=facets
    )
    answer = rank(documents, request, {"looks": photos})
    passing = [
        at for at, one in enumerate(metadata) if at + 1 not in gone and one.get("price", 0) >= 3
    ]
    texts = [set(f"{one['title']} {one.get('colour', '')}".split()) for one in metadata]
    every = {at for at in passing if set(words) <= texts[at]}
    probable = {at for at in passing if chances[at] >= 0.5}
    found = {int(hit.id) for hit in answer.hits}
    assert answer.total == len(found)
    assert every | probable <= found
    if every:
        assert found == every | probable
    colour, price = answer.facets
    told = Counter(metadata[at]["colour"] for at in found if "colour" in metadata[at])
    assert dict(colour.values) == told
    prices = [metadata[at]["price"] for at in found]
    assert dict(price.values) == Counter(prices)
    if prices:
        assert [part.count for part in price.ranges] == [
            sum(low <= one < high for one in prices) for low, high in ((0, 3), (3, 6), (6, 99))
        ]
    for hit in answer.hits:
        assert sum(part.gave for part in hit.parts) == pytest.approx(hit.score)
    scores = [hit.score for hit in answer.hits]
    assert scores == pytest.approx(sorted(scores, reverse=True))


def test_a_photo_alone_answers_if_it_is_likely_or_nothing_else_answers():
    documents = documents_of([{"title": title} for title in ("oak", "shirt", "shoe", "hat")])
    photos = shortlist(np.array([2, 3]), np.array([0.7, 0.4]))
    request = asked(documents, "oak", least=0.3, likely=0.6, facets=(FacetRequest("title"),))
    answer = rank(documents, request, {"looks": photos})
    assert [hit.id for hit in answer.hits] == ["00", "01"]
    assert (answer.total, answer.least, answer.facets[0].distinct) == (2, 0.6, 2)
    unlikely = shortlist(np.array([2, 3]), np.array([0.5, 0.4]))
    absent = asked(documents, "quux", least=0.3, likely=0.6)
    answer = rank(documents, absent, {"looks": unlikely})
    assert ([hit.id for hit in answer.hits], answer.least) == (["01", "02"], 0.3)
    answer = rank(documents, replace(request, where={"title": "shoe"}), {"looks": unlikely})
    assert ([hit.id for hit in answer.hits], answer.least) == (["02"], 0.3)
    answer = rank(documents, replace(request, likely=None), {"looks": photos})
    assert (answer.total, answer.least) == (3, 0.3)


def test_a_text_that_only_refuses_finds_all_else_ranked_by_looks():
    titles = ["oak", "blue oak", "shirt", "shoe", "red shirt"]
    documents = documents_of([{"title": title} for title in titles])
    photos = shortlist(np.array([1, 3, 4]), np.array([0.9, 0.1, 0.7]))
    for text in ("not oak", "-oak"):
        request = asked(documents, text, least=0.5)
        answer = rank(documents, request, {"looks": photos})
        assert [hit.id for hit in answer.hits] == ["03", "02", "04"]
        assert [hit.score for hit in answer.hits] == pytest.approx([0.14, 0.02, 0.0])
        like = replace(request, weights=Weights(likeness=0.2))
        near = {"looks": photos, "likeness": replace(photos, probabilities=np.array([1, 1, 0.0]))}
        assert [hit.id for hit in rank(documents, like, near).hits] == ["02"]
        unlike = replace(request, weights=Weights(likeness=-0.2))
        assert [hit.id for hit in rank(documents, unlike, near).hits] == ["03", "04", "02"]


def test_pages_are_parts_of_the_whole_order():
    documents = documents_of([{"title": WORDS[at % 5], "price": at % 3} for at in range(30)])
    for request in (
        ProductRequest(limit=100),
        ProductRequest(limit=100, sort="price", descending=True),
        asked(documents, "red shirt shoe"),
        replace(asked(documents, "red"), collapse="price"),
    ):
        whole = [hit.id for hit in rank(documents, request, {}).hits]
        assert [hit.id for page in pages(documents, request) for hit in page.hits] == whole


def pages(documents: Documents, request: ProductRequest) -> Iterator[ProductAnswer]:
    """All pages of four hits, each asked for when it is taken."""
    page = rank(documents, replace(request, limit=4), {})
    yield page
    while page.place is not None:
        page = rank(documents, replace(request, limit=4, after=page.place), {})
        yield page


def revisions(page: ProductAnswer) -> Numbers:
    return np.array(sorted(hit.revision for hit in page.hits), np.int64)


REQUESTS: list[dict[str, Any]] = [
    {},
    {"sort": "price"},
    {"sort": "price", "descending": True},
    {"sort": "title"},
    {"sort": "brand"},
]


@pytest.mark.parametrize("options", REQUESTS)
@pytest.mark.parametrize("text", [None, "red shirt shoe", "red"])
def test_pages_whose_hits_are_deleted_leave_out_nothing(text: str | None, options: Any) -> None:
    documents = documents_of(
        [
            {"title": f"{WORDS[at % 5]} red", "price": [at % 7, "ask"][at % 3 == 0]}
            for at in range(30)
        ]
    )
    request = asked(documents, text, **options) if text else ProductRequest(limit=100, **options)
    whole = [hit.id for hit in rank(documents, request, {}).hits]
    seen = []
    for page in pages(documents, request):
        seen += [hit.id for hit in page.hits]
        documents.retire(revisions(page))
    assert seen == whole


@pytest.mark.parametrize("options", REQUESTS)
def test_items_that_come_first_are_given_no_second_time(options: Any) -> None:
    documents = documents_of([{"title": "shoe", "price": 10 + at % 4} for at in range(20)])
    request = ProductRequest(limit=100, **options)
    whole = [hit.id for hit in rank(documents, request, {}).hits]
    first = {"title": "a", "price": 99 if request.descending else 1}
    seen = []
    for number, page in enumerate(pages(documents, request)):
        seen += [hit.id for hit in page.hits]
        documents.add([ItemRow(100 + number, f"!{number}", first, ())])
    assert seen == whole


def test_a_page_goes_on_behind_a_group_whose_best_is_gone() -> None:
    documents = documents_of([{"title": "red", "price": at % 5} for at in range(20)])
    request = ProductRequest(limit=2, sort="price", collapse="price")
    page = rank(documents, request, {})
    assert [hit.id for hit in page.hits] == ["00", "01"]
    documents.retire(revisions(page))
    following = rank(documents, replace(request, after=page.place), {})
    assert [hit.id for hit in following.hits][-1] == "02"
    assert (page.groups, following.groups) == (5, 5)


def test_an_empty_key_sorts_nothing():
    documents = documents_of([{"title": "red"}, {"title": "a red hat", "": 1}])
    assert [hit.id for hit in rank(documents, asked(documents, "red"), {}).hits] == ["00", "01"]


def test_boosts_add_their_share():
    documents = documents_of([{"title": "oak", "sold": sold} for sold in (0, 5, 10)])
    boosts = (Boost(0.2, key="sold"), Boost(-0.1, where={"sold": 10}), Boost(1.0, key="absent"))
    hits = rank(documents, asked(documents, "oak", boosts=boosts), {}).hits
    assert [hit.id for hit in hits] == ["01", "02", "00"]
    boosted = [sum(part.gave for part in hit.parts if part.kind == "boost") for hit in hits]
    assert boosted == pytest.approx([0.1, 0.1, 0.0])


def test_field_that_is_all_of_the_query_wins():
    documents = documents_of([{"title": "oak oak oak shirt"}, {"title": "red"}, {"brand": "oak"}])
    hits = rank(documents, asked(documents, "oak"), {}).hits
    assert [hit.id for hit in hits] == ["02", "00"]
    assert [part.field for part in hits[0].parts if part.kind == "exact"] == ["brand"]
    weighted = asked(documents, "oak", fields={"brand": 0.0})
    assert [hit.id for hit in rank(documents, weighted, {}).hits] == ["00"]


def test_weights_scale_what_words_and_looks_give():
    documents = documents_of([{"title": "oak"}, {"title": "shoe"}])
    photos = shortlist(np.array([2, 2]), np.array([0.8, 0.1]))
    request = asked(documents, "oak", least=0.5, weights=Weights(words=0.0, exact=0.0, looks=2.0))
    best, other = rank(documents, request, {"looks": photos}).hits
    assert (best.id, best.score) == ("01", pytest.approx(1.6))
    assert best.probabilities == {"looks": 0.8}
    assert other.score == 0.0


def test_hits_that_are_too_far_are_refused():
    with pytest.raises(ValueError, match="beyond 10,000"):
        ProductRequest(after=ListPlace("a", 1, 0.0, (), 9_990), limit=20)


def test_schema_says_what_can_be_compared_counted_and_read():
    documents = documents_of([{"title": "oak", "price": 3}, {"size": {"height": 3}, "price": "?"}])
    schema = documents.schema()
    assert schema.keys == {"title", "price"}
    assert schema.numeric == {"price"}
    assert schema.fields == {"id", "title"}  # "?" is no word
    assert schema.uncompared == {"size": {"height": 3}}


CODED = [
    {"title": "Red mug", "sku": "GH 78 9"},
    {"title": "Blue mug", "sku": "AB-1234"},
    {"title": "Mug number9"},
    {"title": "Headset 78 cm", "sku": "WH1000XM4"},
    {"title": "AB 12 red size 78 9"},
]


WAYS = {
    "ABC-001-002": ["ABC001002", "ABC.001.002", "ABC - 001 - 002", "abc_001_002", "ABC/001/002"],
    "AB-12-34": ["AB1234", "AB.12.34", "ab 12 34", "AB - 12 - 34"],
    "X1-2": ["X12", "X1/2", "x 1.2"],
    "GH 78 9": ["gh789", "GH-789", "GH - 78 - 9"],
    "GH789": ["GH 78 9", "gh-789"],
    "5901234123457": ["5 901234 123457", "590 1234123457", "5901234 123457"],
}


@pytest.mark.parametrize("code", WAYS)
def test_a_code_is_found_in_all_ways_of_writing_it(code):
    others = [{"title": "blue mug", "sku": "AB-1234-56"}, {"title": "spread 590 g"}]
    documents = documents_of([{"title": "mug", "sku": code}, *others])
    for typed in [code, *WAYS[code]]:
        hits = rank(documents, asked(documents, typed), {}).hits
        assert (hits[0].id, [part.kind for part in hits[0].parts][-1]) == ("00", "exact"), typed


@pytest.mark.parametrize(
    ("typed", "first"),
    [("2.5", "02"), ("1.5", "03"), ("1,5 l", "03"), ("1/5", None), ("chair 1.5", "04")],
)
def test_decimals_and_fractions_are_no_codes(typed, first):
    documents = documents_of(
        [
            {"title": "saw", "sku": "25"},
            {"title": "lamp", "sku": "15"},
            {"title": "drill 2.5 mm"},
            {"title": "bottle 1.5 l"},
            {"title": "chair", "sku": "15-l"},
        ]
    )
    hits = rank(documents, asked(documents, typed), {}).hits
    assert [hit.id for hit in hits[:1]] == [first] * (first is not None)


def test_words_next_to_a_size_may_have_another_order():
    documents = documents_of([{"title": "iPhone 13 128GB"}, {"title": "size 42 shoes"}])
    for typed, found in (("128gb iphone 13", "00"), ("shoes size 42", "01")):
        hit = rank(documents, asked(documents, typed), {}).hits[0]
        assert (hit.id, "exact" in [part.kind for part in hit.parts]) == (found, True)


def test_a_size_is_no_code_of_other_order():
    documents = documents_of(
        [{"title": "polo shirt", "group": "G100"}, {"title": "chocolate 100 g"}]
    )
    assert rank(documents, asked(documents, "100 g"), {}).hits[0].id == "01"
    code = rank(documents, asked(documents, "g 100"), {}).hits[0]
    assert (code.id, code.parts[-1].kind) == ("00", "exact")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("GH 78 9", ["00"]),
        ("gh78 9", ["00"]),
        ("78 9", ["00", "04"]),
        ("mug GH 78 9", ["00"]),
        ("AB 1234", ["01"]),
        ("ab-1234", ["01"]),
        ("wh 1000 xm4", ["03"]),
    ],
)
def test_a_code_is_found_with_other_spaces_than_it_has(typed, found):
    documents = documents_of(CODED)
    answer = rank(documents, asked(documents, typed), {})
    assert sorted(hit.id for hit in answer.hits) == found


def test_a_filter_leaves_of_each_value_what_its_facet_counts():
    titles = ("blue shirt", "white shirt", "top", "blue mug", "blue hat", "white shirt")
    documents = documents_of([{"title": title, "stock": n // 2} for n, title in enumerate(titles)])
    photos = shortlist(np.array([3]), np.array([0.9]))
    request = asked(documents, "blue shirt", least=0.5, facets=(FacetRequest("stock"),))
    answer = rank(documents, request, {"looks": photos})
    counts = dict(answer.facets[0].values)
    assert counts == {0: 1, 1: 1}
    for stock, count in counts.items():
        assert (
            rank(documents, replace(request, where={"stock": stock}), {"looks": photos}).total
            == count
        )
    # Where nothing is relevant behind the filter, half of the words are enough.
    only = rank(documents, replace(request, where={"stock": 2}), {"looks": photos})
    assert sorted(hit.id for hit in only.hits) == ["04", "05"]


@given(
    st.lists(st.floats(0.01, 0.99), min_size=12, max_size=12),
    st.lists(st.floats(-0.1, 0.1), min_size=12, max_size=12),
    st.sampled_from(
        [
            {},
            {"sort": "price"},
            {"collapse": "price"},
            {"weights": Weights(likeness=-0.2)},
            {"weights": Weights(looks=-0.2)},
        ]
    ),
)
def test_errors_of_codes_change_neither_pages_nor_totals(chances, off, options):
    documents = documents_of([{"title": WORDS[at % 5], "price": at % 3} for at in range(12)])
    exact = np.clip(np.array(chances), 0, 1)
    revisions = np.arange(1, 13)
    settled = list[int]()

    def settle(near: Neighbours, revisions: Sequence[int]) -> Neighbours:
        settled.extend(revisions)
        told = {revision: float(exact[revision - 1]) for revision in revisions}
        return {kind: rows.settle(revisions, told) for kind, rows in near.items()}

    by_codes = shortlist(revisions, exact + np.array(off), np.abs(off) + 1e-9)
    kinds: list[Near] = ["looks", "likeness"] if options.get("weights") else ["looks"]
    request = asked(documents, "red shirt", least=0.3, likely=0.6, **options)
    truth = rank(documents, request, {kind: shortlist(revisions, exact) for kind in kinds})
    hits, after = list[Product](), None
    while True:
        settled.clear()
        page = replace(request, limit=2, after=after)
        answer = rank(documents, page, dict.fromkeys(kinds, by_codes), settle)
        assert (answer.total, answer.groups, answer.least) == (
            truth.total,
            truth.groups,
            truth.least,
        )
        assert len(settled) == len(set(settled))
        hits += answer.hits
        after = answer.place
        if after is None:
            break
    assert hits == list(truth.hits)
