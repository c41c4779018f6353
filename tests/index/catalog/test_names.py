"""A name means at most one collection, and moves at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import select

from index.catalog.names import Alias
from index.catalog.reembedding import reembed
from index.database.tables import settings
from index.items import ModelMismatch, NameConflict, Replaced

MODEL = {"fingerprint": "model-a", "dimension": 8, "score": "sum_of_max"}


@pytest.fixture
def shop(catalog, entry):
    """Collections `shop-1` with a, `shop-2` with b, `shop` for the first."""
    for name, item in (("shop-1", "a"), ("shop-2", "b")):
        catalog.replace(catalog.names.make(name, **MODEL), entry(item))
    catalog.names.point("shop", "shop-1")
    return catalog


def ids(catalog, name):
    return [item.id for item in catalog.list_items(catalog.names.find(name))]


def test_alias_stands_for_the_collection_it_was_last_given(shop):
    assert (shop.names.find("shop").name, ids(shop, "shop")) == ("shop-1", ["a"])
    assert shop.names.point("shop", "shop-2") is False
    assert (ids(shop, "shop"), shop.names.make("shop", **MODEL).name) == (["b"], "shop-2")
    assert shop.names.aliases() == [Alias("shop", "shop-2")]
    shop.names.forget("shop")
    with pytest.raises(LookupError, match="no collection 'shop'; there are: shop-1, shop-2"):
        shop.names.find("shop")
    with pytest.raises(LookupError, match="no alias 'shop'"):
        shop.names.forget("shop")


def test_alias_of_an_alias_is_one_of_the_collection(shop):
    assert shop.names.point("store", "shop") is True
    shop.names.point("shop", "shop-2")
    assert shop.names.aliases() == [Alias("shop", "shop-2"), Alias("store", "shop-1")]


def test_collections_and_aliases_share_their_names(shop):
    with pytest.raises(NameConflict, match="'shop-1' is a collection"):
        shop.names.point("shop-1", "shop-2")
    for taken in ("shop", "shop-1", "shop-2"):
        with pytest.raises(NameConflict, match="is taken"):
            shop.names.rename("shop-2", taken)
    for change in (shop.names.drop, lambda name: shop.names.rename(name, "new")):
        with pytest.raises(NameConflict, match="'shop' is an alias of collection 'shop-1'"):
            change("shop")
    with pytest.raises(ValueError, match="printable"):
        shop.names.point("a\0", "shop-1")


def test_renamed_collection_keeps_its_items_and_aliases(shop, collection, entry):
    before = shop.names.find("shop-1")
    shop.names.rename("shop-1", "old")
    assert shop.names.find("shop") == shop.names.find("old")
    assert shop.names.find("old").token == before.token
    shop.replace(before, entry("late"))  # who had opened it before goes on
    assert ids(shop, "old") == ["a", "late"]


def test_name_of_a_collection_becomes_an_alias_in_one_step(shop):
    shop.names.rename("shop-2", "shop-3", alias=True)
    assert ids(shop, "shop-2") == ids(shop, "shop-3") == ["b"]
    shop.names.point("shop-2", "shop-1")
    assert ids(shop, "shop-2") == ["a"]


def test_collection_that_an_alias_stands_for_is_not_dropped(shop):
    with pytest.raises(NameConflict, match="'shop-1' has the alias shop"):
        shop.names.drop("shop-1")
    shop.names.point("shop", "shop-2")
    shop.names.drop("shop-1")
    assert [one.name for one in shop.names.all()] == ["shop-2"]


def test_dropped_collection_is_gone_for_those_who_had_opened_it(shop, entry):
    home = shop.names.find("shop-2")
    shop.names.drop("shop-2")
    for use in (
        lambda: shop.get(home, "b"),
        lambda: shop.list_items(home),
        lambda: shop.get_many(home, ["b"]),
        lambda: shop.replace(home, entry("c"))[0],
        lambda: shop.delete(home, "b"),
        lambda: shop.revision(home),
    ):
        with pytest.raises(Replaced, match="it was dropped"):
            use()
    shop.sweep()
    new = shop.names.make("shop-2", **MODEL)
    assert (new.token != home.token, shop.list_items(new)) == (True, [])


def test_reembedded_collection_keeps_its_aliases(shop):
    reembed(
        shop,
        "shop",
        fingerprint="model-b",
        dimension=8,
        score="sum_of_max",
        embed=lambda them: them,
        progress=lambda *_: None,
    )
    assert (shop.names.find("shop").fingerprint, ids(shop, "shop")) == ("model-b", ["a"])
    with pytest.raises(ModelMismatch):
        shop.names.make("shop", **MODEL)


def again(catalog, name, model="model-b", *, keep=True, embed=lambda them: them):
    options = {"fingerprint": model, "dimension": 8, "score": "sum_of_max", "keep": keep}
    return reembed(catalog, name, **options, embed=embed, progress=lambda *_: None)


def stopped(entries):
    raise KeyboardInterrupt


def test_reembedding_keeps_what_it_replaces_if_it_shall(shop):
    kept = shop.names.find("shop")
    again(shop, "shop")
    assert (shop.names.find("shop").fingerprint, ids(shop, "shop")) == ("model-b", ["a"])
    assert shop.names.find_former(shop.names.find("shop"), "model-a") == replace(
        kept, name="shop-1@model-a"
    )
    assert shop.names.find_former(shop.names.find("shop"), "model-c") is None
    shop.sweep()
    assert ids(shop, "shop-1@model-a") == ["a"]
    shop.names.make("shop-1@model-b", **MODEL)
    with pytest.raises(NameConflict, match="'shop-1@model-b' is taken: drop"):
        again(shop, "shop", "model-c")


def test_what_is_kept_follows_renames_of_both(shop):
    live, kept = again(shop, "shop-1"), shop.names.find("shop-1@model-a")
    shop.names.rename("shop-1", "store")
    shop.names.rename("shop-1@model-a", "former")
    assert shop.names.find_former(shop.names.find("store"), "model-a") == replace(
        kept, name="former"
    )
    shop.names.drop("former")
    assert shop.names.find_former(live, "model-a") is None


def test_what_is_kept_is_not_found_for_what_replaces_the_collection_in_turn(shop, entry):
    first = again(shop, "shop-1")
    back = again(shop, "shop-1", "model-a", keep=False)
    shop.replace(back, entry("late"))
    second = again(shop, "shop-1", keep=False)
    assert ids(shop, "shop-1@model-a") == ["a"]
    for live in (first, second):
        assert shop.names.find_former(live, "model-a") is None


def test_what_is_kept_is_not_found_for_a_new_collection_of_the_name(shop):
    live = again(shop, "shop-2")
    shop.names.drop("shop-2")
    new = shop.names.make("shop-2", **MODEL | {"fingerprint": "model-b"})
    assert shop.names.find_former(live, "model-a") is shop.names.find_former(new, "model-a") is None


def test_what_is_kept_has_the_name_that_its_collection_had_in_the_end(shop):
    def renamed(entries):
        shop.names.rename("shop-2", "store")
        return entries

    with pytest.raises(LookupError, match="no collection 'shop-2'"):
        again(shop, "shop-2", embed=renamed)
    assert shop.names.find_former(shop.names.find("store"), "model-a").name == "store@model-a"


@pytest.mark.parametrize("alias", [False, True])
def test_name_that_is_taken_while_it_is_reembedded_is_a_conflict(shop, alias):
    def taken(entries):
        if alias:
            shop.names.point("shop-2@model-a", "shop-1")
        else:
            shop.names.make("shop-2@model-a", **MODEL)
        return entries

    with pytest.raises(NameConflict, match="'shop-2@model-a' is taken: drop"):
        again(shop, "shop-2", embed=taken)
    assert shop.names.find("shop-2").fingerprint == "model-a"
    (shop.names.forget if alias else shop.names.drop)("shop-2@model-a")
    assert shop.names.find_former(again(shop, "shop-2", embed=pytest.fail), "model-a").name


def test_reembedding_that_was_to_keep_does_so_after_an_interruption(shop):
    with pytest.raises(KeyboardInterrupt):
        again(shop, "shop-2", embed=stopped)
    assert (
        shop.names.find_former(again(shop, "shop-2", keep=False), "model-a").name
        == "shop-2@model-a"
    )


def test_sweep_forgets_what_was_kept_for_collections_that_are_gone(shop):
    def ties():
        with shop.reader.begin() as connection:
            named = settings.c.name.startswith("kept/")
            return set(connection.execute(select(settings.c.value).where(named)).scalars())

    others = ties()  # of tests before, in a database of PostgreSQL
    with pytest.raises(KeyboardInterrupt):
        again(shop, "shop-2", "model-c", embed=stopped)
    again(shop, "shop-1")
    again(shop, "shop-2", keep=False)
    assert ties() - others == {shop.names.find("shop-1@model-a").token}
    shop.names.drop("shop-1@model-a")
    assert ties() == others


def test_collection_that_is_dropped_while_it_is_reembedded_stays_gone(shop):
    def dropped(entries):
        shop.names.drop("shop-2")
        return entries

    with pytest.raises(LookupError, match="no collection 'shop-2'"):
        reembed(
            shop,
            "shop-2",
            fingerprint="model-b",
            dimension=8,
            score="sum_of_max",
            embed=dropped,
            progress=lambda *_: None,
        )
    shop.sweep()
    assert [one.name for one in shop.names.list_followed()] == ["shop-1"]


def test_one_of_many_takes_a_name(shop):
    def take(number):
        try:
            shop.names.rename(f"new {number}", "best")
        except NameConflict:
            return False
        return True

    for number in range(6):
        shop.names.make(f"new {number}", **MODEL)
    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(take, range(6))) == [False] * 5 + [True]


def test_name_is_never_absent_while_its_collection_is_reloaded(shop, entry):
    """A reader always finds one of two collections as a whole."""

    def reload():
        for number in range(15):
            home = shop.names.make(f"load {number}", **MODEL)
            shop.put_many(home, [entry("x"), entry("y")])
            old = shop.names.find("shop").name
            shop.names.point("shop", home.name)
            shop.names.drop(old)
            shop.sweep_collections()
        return True

    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(reload)
        while not work.done():
            try:
                assert ids(shop, "shop") in (["a"], ["x", "y"])
            except Replaced:  # it was dropped between two reads: the name is there again at once
                assert ids(shop, "shop") == ["x", "y"]
        assert work.result()
