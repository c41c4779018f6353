"""A sync makes a collection equal to a list, with care."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tessera_client import AsyncClient, Client, NewItem, TesseraError, TooManyGone
from tessera_client.models import Item
from tessera_client.products import Report, compare, sync

from app.engine.engine import Engine
from index.catalog import edits as editing
from index.items import NoSpace

Png = Callable[..., bytes]


@pytest.fixture
def shop(address: str) -> Iterator[Client]:
    with Client(address, collection="shop") as client:
        yield client


@pytest.fixture
def catalogue(tmp_path: Path, png: Png) -> list[NewItem]:
    photo = tmp_path / "blue.png"
    photo.write_bytes(png("blue"))
    return [
        NewItem("a", png("red"), metadata={"price": 1, "size": {"eu": 40}}),
        NewItem("b", photo, images=[png("lime")], metadata={"price": 2}),
        NewItem("c", sentences=("a white wall",), metadata={"price": 3}),
    ]


def counts(report: Report) -> dict[str, int]:
    names = ("read", "stored", "patched", "unchanged", "deleted")
    return {name: count for name in names if (count := getattr(report, name))}


def stored(client: Client) -> dict[str, Item]:
    return {item.id: item for item in client.items()}


def test_a_second_sync_changes_nothing(shop: Client, catalogue: list[NewItem]) -> None:
    assert counts(shop.products.sync(catalogue)) == {"read": 3, "stored": 3}
    assert counts(shop.products.sync(catalogue)) == {"read": 3, "unchanged": 3}
    assert [len(item.images) for item in stored(shop).values()] == [1, 2, 0]


def test_other_metadata_alone_embed_nothing(
    shop: Client,
    engine: Engine,
    catalogue: list[NewItem],
    monkeypatch: pytest.MonkeyPatch,
    png: Png,
) -> None:
    shop.products.sync(catalogue)
    monkeypatch.setattr(engine.models.matcher, "embed_images", pytest.fail)
    catalogue[0] = NewItem("a", png("red"), metadata={"size": {"us": 8}, "new": True})
    assert counts(shop.products.sync(catalogue)) == {"read": 3, "patched": 1, "unchanged": 2}
    assert stored(shop)["a"].metadata == {"size": {"us": 8}, "new": True}
    assert counts(shop.products.sync(catalogue)) == {"read": 3, "unchanged": 3}


def test_a_changed_photo_is_stored_again(
    shop: Client, catalogue: list[NewItem], tmp_path: Path, png: Png
) -> None:
    shop.products.sync(catalogue)
    before = shop.item_image("b")
    (tmp_path / "blue.png").write_bytes(png("yellow"))
    assert counts(shop.products.sync(catalogue)) == {"read": 3, "stored": 1, "unchanged": 2}
    assert shop.item_image("b") != before


def test_what_vanished_is_deleted_but_not_too_much(shop: Client, catalogue: list[NewItem]) -> None:
    shop.products.sync(catalogue)
    new = NewItem("d", sentences=("a black wall",))
    with pytest.raises(TooManyGone, match="2 of 3 items are not in the list") as refused:
        shop.products.sync([catalogue[0], new])
    assert refused.value.ids == ["b", "c"]
    assert stored(shop).keys() == {"a", "b", "c", "d"}  # what is new is there
    report = shop.products.sync([catalogue[0], new], most_deleted=0.5)
    assert counts(report) == {"read": 2, "unchanged": 2, "deleted": 2}
    assert stored(shop).keys() == {"a", "d"}


def test_a_filter_keeps_other_items_out_of_a_sync(shop: Client) -> None:
    shop.put_item("page", sentences=["a red wall"])
    mine = [NewItem(n, sentences=("blue",), metadata={"source": "erp"}) for n in ("x", "y")]
    shop.products.sync(mine, filter={"source": "erp"})
    shop.products.sync(mine[:1], filter={"source": "erp"}, most_deleted=0.5)
    assert stored(shop).keys() == {"page", "x"}


def test_refused_items_stay_as_they_were_and_say_why(
    shop: Client, catalogue: list[NewItem], tmp_path: Path
) -> None:
    shop.products.sync(catalogue)
    (tmp_path / "blue.png").unlink()
    broken = [NewItem("a", b"no photo"), catalogue[1], catalogue[2], catalogue[2]]
    report = shop.products.sync(broken)
    assert [name for name, _ in report.refused] == ["b", "c", "a"]
    for (_, reason), words in zip(
        report.refused, ("blue.png", "twice", "not an image"), strict=True
    ):
        assert words in reason
    assert stored(shop).keys() == {"a", "b", "c"}


def test_an_interrupted_sync_goes_on_where_it_was(
    shop: Client, catalogue: list[NewItem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tessera_client.products.TOGETHER", 1)

    def broken() -> Iterator[NewItem]:
        yield from catalogue[:2]
        raise OSError("the list ends here")

    told: list[int] = []
    with pytest.raises(OSError, match="ends here"):
        shop.products.sync(broken(), progress=lambda report: told.append(report.stored))
    assert told[-1] == 2
    assert counts(shop.products.sync(catalogue)) == {"read": 3, "stored": 1, "unchanged": 2}


def test_the_callers_own_stamps_count(shop: Client) -> None:
    first = NewItem("a", sentences=("red",), stamp="2026-01-01")
    assert counts(shop.products.sync([first])) == {"read": 1, "stored": 1}
    assert counts(shop.products.sync([NewItem("a", sentences=("blue",), stamp="2026-01-01")])) == {
        "read": 1,
        "unchanged": 1,
    }


def test_sync_may_be_awaited(address: str, catalogue: list[NewItem]) -> None:
    async def work() -> tuple[Report, Report]:
        async with AsyncClient(address, collection="awaited") as client:
            return await client.products.sync(catalogue), await client.products.sync(catalogue)

    first, second = asyncio.run(work())
    assert (first.stored, second.unchanged) == (3, 3)


def test_an_awaited_sync_takes_an_asynchronous_generator(
    address: str, catalogue: list[NewItem]
) -> None:
    async def items() -> AsyncIterator[NewItem]:
        for item in catalogue:
            await asyncio.sleep(0)
            yield item

    async def work() -> tuple[Report, Report]:
        async with AsyncClient(address, collection="awaited") as client:
            return await client.products.sync(items()), await client.products.sync(items())

    first, second = asyncio.run(work())
    assert (first.stored, second.unchanged) == (3, 3)


def test_difference_is_the_patch_from_one_object_to_another() -> None:
    was = {"a": 1, "b": {"c": 2, "d": 3}, "e": [1], "same": {"x": 1}}
    now = {"a": True, "b": {"c": 2}, "e": [2], "same": {"x": 1}}
    assert compare(was, now) == {"a": True, "b": {"d": None}, "e": [2], "same": {}}


def test_sync_in_one_process_does_the_same(
    catalogue: list[NewItem], tmp_path: Path, small_matcher: Path
) -> None:
    options = {"matcher": small_matcher, "captioner": None, "grounder": None}
    with Client(path=tmp_path / "data", settings=options, collection="shop") as client:
        assert counts(client.products.sync(catalogue)) == {"read": 3, "stored": 3}
        catalogue[0] = replace(catalogue[0], metadata={"price": 9})
        assert counts(client.products.sync(catalogue)) == {"read": 3, "patched": 1, "unchanged": 2}
        report = client.products.sync(catalogue[:2], most_deleted=0.5)
        assert counts(report) == {"read": 2, "unchanged": 2, "deleted": 1}
        assert {name: item.metadata for name, item in stored(client).items()} == {
            "a": {"price": 9},
            "b": {"price": 2},
        }


def test_an_empty_list_deletes_nothing_unless_it_is_told_to(
    shop: Client, catalogue: list[NewItem]
) -> None:
    assert counts(shop.products.sync([])) == {}  # of a collection that is new
    shop.products.sync(catalogue)
    with pytest.raises(TooManyGone, match="3 of 3 items are not in the list"):
        shop.products.sync(iter([]))
    assert stored(shop).keys() == {"a", "b", "c"}
    assert counts(shop.products.sync([], most_deleted=1)) == {"deleted": 3}
    with pytest.raises(ValueError, match="from 0 to 1, got 50"):
        shop.products.sync([], most_deleted=50)


def test_of_items_with_one_id_the_first_counts(shop: Client) -> None:
    twice = [NewItem("a", sentences=(colour,)) for colour in ("red", "blue")]
    report = shop.products.sync(twice)
    assert (counts(report), report.refused) == (
        {"read": 2, "stored": 1},
        [("a", "its id comes twice")],
    )
    assert stored(shop)["a"].sentences == ["red"]


@pytest.mark.parametrize("name", [None, "", " ", 5, float("nan")])
def test_an_item_without_an_id_is_refused_and_nothing_deleted(
    shop: Client, catalogue: list[NewItem], name: Any
) -> None:
    shop.products.sync(catalogue)
    items = [catalogue[0], replace(catalogue[1], id=name), NewItem("d", sentences=("red",))]
    reports: list[Report] = []
    words = r"1 of 3 items have no id, the first is item 2: .* nothing was deleted\. Give each"
    with pytest.raises(ValueError, match=words):
        shop.products.sync(items, most_deleted=1, progress=reports.append)
    assert stored(shop).keys() == {"a", "b", "c", "d"}  # what is new is there
    [(refused, reason)] = reports[-1].refused
    assert refused == ""
    assert f"item 2: its id is {name!r}, and an id is a text that is not blank" in reason
    report = shop.products.sync([*catalogue, *items], most_deleted=1)
    assert (report.deleted, len(report.refused)) == (0, 2), "none would be deleted"


@pytest.mark.parametrize("other", [{"id": "b"}, None, "b"])
def test_an_item_of_another_type_is_refused_and_nothing_deleted(
    shop: Client, catalogue: list[NewItem], other: Any
) -> None:
    shop.products.sync(catalogue)
    with pytest.raises(ValueError, match="1 of 2 items have no id, the first is item 2"):
        shop.products.sync([catalogue[0], other], most_deleted=1)
    assert stored(shop).keys() == {"a", "b", "c"}


def test_a_second_sync_of_converted_metadata_changes_nothing(shop: Client) -> None:
    metadata = {"price": Decimal("9.50"), "day": date(2026, 5, 1), "sizes": {"s", "m"}}
    items = [NewItem("a", sentences=("red",), metadata=metadata)]
    assert counts(shop.products.sync(items)) == {"read": 1, "stored": 1}
    assert counts(shop.products.sync(items)) == {"read": 1, "unchanged": 1}
    items = [replace(items[0], metadata=metadata | {"price": Decimal(10)})]
    assert counts(shop.products.sync(items)) == {"read": 1, "patched": 1}
    assert stored(shop)["a"].metadata == {"price": 10, "day": "2026-05-01", "sizes": ["m", "s"]}


def test_one_text_as_sentences_is_refused(shop: Client) -> None:
    text: Any = "Hello"
    report = shop.products.sync([NewItem("a", sentences=text)])
    assert report.refused == [("a", "sentences is a list: give ['Hello'] instead of 'Hello'")]


def test_what_the_service_refuses_in_the_middle_stops_no_other(
    shop: Client, catalogue: list[NewItem]
) -> None:
    shop.products.sync(catalogue)
    bad = {"x": "\0"}  # no database holds it
    items = [
        replace(catalogue[0], metadata=bad),  # would be patched
        replace(catalogue[1], metadata={"price": 9}),
        NewItem("new", sentences=("red",), metadata=bad),
        NewItem("odd", sentences=("red",), metadata={"when": object()}),
        NewItem("own", sentences=("red",), metadata={"when": object()}, stamp="1"),
        replace(catalogue[1], id="nan", metadata={"price": float("nan")}),
        NewItem("last", sentences=("lime",)),
        catalogue[2],
    ]
    report = shop.products.sync(items)
    assert counts(report) == {"read": 8, "stored": 1, "patched": 1, "unchanged": 1}
    reasons = dict(report.refused)
    assert reasons.keys() == {"a", "new", "odd", "own", "nan"}
    assert "NUL" in reasons["a"]
    assert "NUL" in reasons["new"]
    assert "not JSON serializable" in reasons["odd"]
    assert "not JSON serializable" in reasons["own"]
    assert "not JSON compliant" in reasons["nan"]
    assert stored(shop)["a"].metadata == {"price": 1, "size": {"eu": 40}}
    assert stored(shop).keys() == {"a", "b", "c", "last"}


def test_an_item_that_someone_deletes_meanwhile_is_stored_whole(
    shop: Client, catalogue: list[NewItem]
) -> None:
    shop.products.sync(catalogue)

    def items() -> Iterator[NewItem]:
        shop.delete_item("a")  # when the stamps are read already
        yield replace(catalogue[0], metadata={"price": 7})
        yield from catalogue[1:]

    assert counts(shop.products.sync(items())) == {"read": 3, "stored": 1, "unchanged": 2}
    assert stored(shop)["a"].metadata == {"price": 7}
    assert len(stored(shop)["a"].images) == 1


def test_a_photo_that_vanishes_after_it_was_looked_at_refuses_its_item_alone(
    shop: Client, catalogue: list[NewItem], tmp_path: Path
) -> None:
    def items() -> Iterator[NewItem]:
        yield from catalogue[:2]
        (tmp_path / "blue.png").unlink()
        yield catalogue[2]

    report = shop.products.sync(items())
    assert counts(report) == {"read": 3, "stored": 2}
    assert [name for name, _ in report.refused] == ["b"]
    assert "blue.png" in report.refused[0][1]


def test_a_full_disk_ends_the_sync_and_the_next_one_goes_on(
    shop: Client, catalogue: list[NewItem], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.products.sync(catalogue)
    changed = [replace(one, metadata={"price": 10}) for one in catalogue]
    patch, times = editing.patch, iter([True, False])

    def fails_once(*args: Any, **options: Any) -> Any:
        if next(times, True):
            return patch(*args, **options)
        raise NoSpace("the disk is full")

    monkeypatch.setattr(editing, "patch", fails_once)
    with pytest.raises(TesseraError) as failed:
        shop.products.sync(changed)
    assert failed.value.status == 507
    assert counts(shop.products.sync(changed)) == {"read": 3, "patched": 2, "unchanged": 1}


def interleaved(shop: Client, ours: list[NewItem], theirs: Callable[[], object]) -> Report:
    """A sync with another one between its read and its patch."""
    work, answer, came = sync(ours), None, False
    while True:
        try:
            step = work.throw(answer) if isinstance(answer, TesseraError) else work.send(answer)
        except StopIteration as stop:
            report: Report = stop.value
            return report
        try:
            answer = shop.send(step)
        except TesseraError as refused:
            answer = refused
        if step.method == "GET" and step.path == "/items/a" and not came:
            came = True
            theirs()


def test_an_item_is_wholly_of_one_of_two_syncs_that_overlap(shop: Client, png: Png) -> None:
    def listing(**metadata: Any) -> list[NewItem]:
        return [NewItem("a", png("red"), metadata=metadata)]

    shop.products.sync(listing(price=1, old=1))
    first = listing(price=2, first=1)
    report = interleaved(shop, first, lambda: shop.products.sync(listing(price=3, second=1)))
    assert counts(report) == {"read": 1, "stored": 1}
    assert stored(shop)["a"].metadata == {"price": 2, "first": 1}
    assert counts(shop.products.sync(first)) == {"read": 1, "unchanged": 1}


def test_a_patch_does_not_join_metadata_with_photos_of_another_sync(shop: Client, png: Png) -> None:
    shop.products.sync([NewItem("a", png("red"), metadata={"price": 1})])
    ours = [NewItem("a", png("red"), metadata={"price": 2})]
    before = shop.item_image("a")

    def theirs() -> Iterator[NewItem]:
        shop.products.sync([NewItem("a", png("blue"), metadata={"price": 3})])
        yield from ours

    assert counts(shop.products.sync(theirs())) == {"read": 1, "stored": 1}
    assert (stored(shop)["a"].metadata, shop.item_image("a")) == ({"price": 2}, before)


def test_a_sync_does_not_make_again_what_is_dropped_meanwhile(
    shop: Client, engine: Engine, catalogue: list[NewItem]
) -> None:
    def items() -> Iterator[NewItem]:
        shop.drop_collection("shop")
        yield from catalogue

    with pytest.raises(TesseraError, match="no collection 'shop'"):
        shop.products.sync(items())
    assert not engine.knows("shop")


def test_an_upload_does_not_make_again_what_is_dropped_meanwhile(
    shop: Client, engine: Engine
) -> None:
    items = [NewItem(f"{number}", sentences=("red",)) for number in range(300)]

    def drop(sent: int) -> None:
        shop.drop_collection("shop")

    with pytest.raises(TesseraError, match="no collection 'shop'"):
        list(shop.upload(items, progress=drop))
    assert not engine.knows("shop")
