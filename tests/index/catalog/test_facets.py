import pytest
from sqlalchemy import event, update

from index.catalog.facets import canonical, facets_of
from index.database.tables import facets
from index.documents.columns import Column
from index.filters import parse


def ids(catalog, collection, where):
    return [item.id for item in catalog.list_items(collection, where=where)]


@pytest.fixture
def shop(catalog, collection, entry):
    catalog.put_many(
        collection,
        [
            entry("a", metadata={"colour": "red", "size": 3, "tags": ["new", "wool"]}),
            entry("b", metadata={"colour": "blue", "size": 3.0, "sold": True}),
            entry("c", metadata={"colour": "red", "size": "3", "sold": None, "sub": {"x": 1}}),
            entry("d", metadata={"$.colour": "red", "size": 1}),
        ],
    )
    return lambda where: ids(catalog, collection, where)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"colour": "red"}, ["a", "c"]),
        ({"colour": ["red", "blue"]}, ["a", "b", "c"]),
        ({"colour": ["red", "blue"], "size": 3}, ["a", "b"]),
        ({"size": "3"}, ["c"]),
        ({"size": True}, []),
        ({"sold": True}, ["b"]),
        ({"sold": None}, ["c"]),
        ({"tags": "wool"}, ["a"]),
        ({"$.colour": "red"}, ["d"]),
        ({"colour": "' OR 1=1 --"}, []),
        ({"colour": []}, []),
        ({}, ["a", "b", "c", "d"]),
    ],
)
def test_filter_compares_values_of_one_kind(shop, where, found):
    assert shop(where) == found


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ({"": 1}, "keys"),
        ({3: 1}, "keys"),
        ({"sub": {"x": 1}}, "takes gt, gte"),
        ({"size": float("nan")}, "compares with"),
        ({"size": [[1]]}, "compares with"),
        ({"colour": "x" * 201}, "200 characters"),
        ({"colour": "\0"}, "compares with"),
        ({"colour\0": "red"}, "keys are metadata keys"),
        ({f"key {number}": 1 for number in range(2_000)}, "up to 64 conditions .* got 2,000 and"),
        ({"size": list(range(300_000))}, "1,000 values in all, got 1 and 300,000"),
        ({"a": list(range(600)), "b": list(range(600))}, "got 2 and 1,200"),
    ],
)
def test_odd_filter_is_refused_with_what_would_work(shop, where, reason):
    with pytest.raises(ValueError, match=reason):
        shop(where)


def test_equal_numbers_have_one_text():
    assert canonical(3) == canonical(3.0) != canonical("3")


def test_texts_with_apart_and_joined_accents_are_equal(catalog, collection, entry):
    apart, joined = "Nestle\u0301", "Nestl\u00e9"
    assert canonical(apart) == canonical(joined)
    catalog.replace(collection, entry("a", metadata={"brand": apart}))
    catalog.replace(collection, entry("b", metadata={"brand": joined}))
    for where in (
        {"brand": apart},
        {"brand": [joined]},
        {"brand": {"prefix": apart}},
        {"brand": {"gte": joined, "lte": apart}},
    ):
        assert [one.id for one in catalog.list_items(collection, where=where)] == ["a", "b"]
    assert catalog.values(collection, "brand", 5) == [joined]
    assert catalog.get(collection, "a").metadata["brand"] == apart


def test_facets_of_earlier_versions_are_found(catalog, collection, entry):
    apart, joined = '"Nestle\u0301"', '"Nestl\u00e9"'
    catalog.replace(collection, entry("a", metadata={"brand": "Nestl\u00e9"}))
    with catalog.writer.begin() as connection:
        connection.execute(update(facets).where(facets.c.value == joined).values(value=apart))
    for where in ({"brand": "Nestl\u00e9"}, {"brand": {"prefix": "Nestl\u00e9"}}):
        assert [one.id for one in catalog.list_items(collection, where=where)] == ["a"]


def test_prose_is_no_facet():
    assert facets_of({"about": "x" * 201, "colour": "é"}) == {("colour", '"é"')}


def test_long_keys_are_stored_but_not_compared(catalog, collection, entry):
    key, value = "k" * 3000, "\x01\U0001f600" * 100
    catalog.replace(collection, entry("a", metadata={key: 1, "😀" * 200: value}))
    assert catalog.get(collection, "a").metadata[key] == 1
    assert [one.id for one in catalog.list_items(collection, where={"😀" * 200: value})] == ["a"]
    with pytest.raises(ValueError, match="1 to 200 characters"):
        catalog.list_items(collection, where={key: 1})


def test_long_sources_are_found(catalog, collection, entry):
    source = "".join(chr(33 + (7919 * i) % 90) for i in range(6000))
    catalog.replace(collection, entry("a", source=source, stamp="1"))
    assert catalog.stamps(collection, [source]) == {source: "1"}


def test_values_under_a_key_are_those_that_filters_compare(shop, catalog, collection):
    assert set(catalog.values(collection, "colour", 5)) == {"red", "blue"}
    assert len(catalog.values(collection, "tags", 1)) == 1
    assert catalog.values(collection, "sub", 5) == catalog.values(collection, "x", 5) == []


def test_values_are_stepped_through_by_the_index(catalog, collection, entry):
    entries = [entry(f"{n}", metadata={"size": n % 3, "tags": ["b", "a"]}) for n in range(9)]
    catalog.put_many(collection, [*entries, entry("z", metadata={"size": None})])
    assert set(catalog.values(collection, "size", 5)) == {0, 1, 2, None}
    assert len(catalog.values(collection, "size", 2)) == 2
    with catalog.reading(collection) as view:
        statements = []
        event.listen(
            view.connection, "before_cursor_execute", lambda *args: statements.append(args[2])
        )
        view.values("size", 5)
    assert "DISTINCT" not in statements[0]
    assert "RECURSIVE" in statements[0]


def test_example_is_one_of_the_latest_items(catalog, collection, entry, monkeypatch):
    monkeypatch.setattr("index.catalog.views.LATEST", 2)
    about = [{"old": {"x": 1}}, {"new": {"x": 2}}, {}]
    catalog.put_many(collection, [entry(f"{n}", metadata=one) for n, one in enumerate(about)])
    assert catalog.example(collection, "new") == {"x": 2}
    assert catalog.example(collection, "old") is None


def test_example_of_what_no_filter_compares(catalog, collection, entry):
    odd = {'50% "off"_': {"x": 1}, "inner": {"deep": 2}, "long": "x" * 300}
    catalog.put_many(collection, [entry("a", metadata=odd), entry("b", metadata={"deep_": 1})])
    for key, value in odd.items():
        assert catalog.example(collection, key) == value
    for key in ("deep", "x", "%", "lon_", "absent"):
        assert catalog.example(collection, key) is None


def test_keys_are_read_by_one_statement(catalog, collection, entry):
    for number in range(3):
        catalog.replace(
            collection, entry(str(number), metadata={f"k{number}": 1, f"l{number}": "a"})
        )
    statements = []
    event.listen(
        catalog.reader, "before_cursor_execute", lambda *parts: statements.append(parts[2])
    )
    assert catalog.keys(collection) == ["k0", "k1", "k2", "l0", "l1", "l2"]
    assert sum("min(" in statement for statement in statements) == 1


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ({"gte": 2**53 + 1}, ["a", "c"]),
        ({"gt": 2**53, "lt": 2**53 + 2}, ["a"]),
        ({"lte": 2**53}, ["b", "d", "e"]),
        ({"gt": 2**53 + 1.0}, ["a", "c"]),  # a double: 2 ** 53
        ({"gt": 1e30}, []),
        ({"gte": -1e30, "lt": 0.25}, ["e"]),
        ({"gte": 10**25}, []),
    ],
)
def test_ranges_tell_whole_numbers_apart_that_doubles_do_not(
    catalog, collection, entry, bounds, found
):
    """Such as times in nanoseconds and long ids."""
    numbers = {"a": 2**53 + 1, "b": 2**53, "c": 2**53 + 2, "d": 0.25, "e": -(10**20)}
    catalog.put_many(collection, [entry(name, metadata={"n": n}) for name, n in numbers.items()])
    assert ids(catalog, collection, {"n": bounds}) == found
    column = Column()
    for document, number in enumerate(numbers.values()):
        column.add(document, [canonical(number)])
    passed = column.having(parse({"n": bounds})) if len(bounds) == 1 else None
    assert passed is None or [list(numbers)[document] for document in passed] == found
