"""An import embeds a photo once; later changes are patches."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.imports.folder import find
from app.imports.sources import ImportOutcome, ItemSource
from app.imports.storing import import_sources
from app.imports.tables.table import open_table
from index.backup.checks.items import check_items
from index.catalog.edits import Change, patch
from index.items import Item

Png = Callable[..., bytes]


@pytest.fixture
def embedded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of items in the order of embedding."""
    ids, embed = list[str](), engine.embed

    def note(drafts: Any) -> Any:
        ids.extend(draft.id for draft in drafts)
        return embed(drafts)

    monkeypatch.setattr(engine, "embed", note)
    return ids


@pytest.fixture
def shop(tmp_path: Path, png: Png) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    for colour in ("red", "blue"):
        (folder / f"{colour}.png").write_bytes(png(colour))
    rows = ["sku,title,image,price", "1,Boot,red.png,5", "2,Shoe,blue.png,6"]
    (folder / "products.csv").write_text("\n".join(rows))
    return folder / "products.csv"


def bring(engine: Engine, *paths: Path) -> dict[str, str]:
    """Import tables and other paths; statuses by id."""
    outcomes = dict[str, str]()
    for path in paths:
        if path.suffix == ".csv":
            with open_table(path, {}) as table:
                outcomes |= _store(engine, list(table.sources()))
        else:
            outcomes |= _store(engine, list(find([path])))
    return outcomes


def _store(engine: Engine, sources: list[ItemSource | ImportOutcome]) -> dict[str, str]:
    ids = {source.place: source.id for source in sources if isinstance(source, ItemSource)}
    outcomes = import_sources(engine, "default", sources, batch=2, most_bytes=10**6)
    return {ids.get(outcome.place, outcome.place): outcome.status for outcome in outcomes}


def item(engine: Engine, name: str) -> Item:
    return engine.catalog.get(engine.open("default"), name)


def test_rows_overwrite_items_of_their_ids_when_asked(engine: Engine, shop: Path, png: Png) -> None:
    draft = Draft("1", sentences=("by hand",))
    assert engine.put_each("default", engine.open("default", create=True), [draft]) == [None]
    bring(engine, shop, shop.parent)  # and the photos of its folder
    newer = shop.with_name("newer.csv")
    newer.write_text("sku,title,price\n1,Boot,5\n2,Clog,7\nshop/red.png,Red,1\n")

    def import_newer(*, overwrite: bool) -> tuple[Counter[str], list[str]]:
        with open_table(newer, {}) as table:
            outcomes = list(
                import_sources(
                    engine,
                    "default",
                    table.sources(),
                    batch=2,
                    most_bytes=10**6,
                    overwrite=overwrite,
                )
            )
        return Counter(each.status for each in outcomes), [each.reason for each in outcomes]

    counts, reasons = import_newer(overwrite=False)
    assert counts == {"refused": 3}
    assert reasons[1].endswith(f"{shop}#2; rename one, or --overwrite replaces that item")
    assert item(engine, "2").metadata["title"] == "Shoe"
    assert import_newer(overwrite=True)[0] == {"stored": 3}
    assert [item(engine, name).source for name in "12"] == [f"{newer}#1", f"{newer}#2"]
    assert item(engine, "1").sentences == ("Boot",)
    assert import_newer(overwrite=False)[0] == {"skipped": 3}
    assert "stored" in bring(engine, shop.parent).values()  # the photo has another id now
    assert item(engine, "shop/red.png").metadata["title"] == "Red"


@pytest.mark.parametrize("batch", [1, 8])
def test_an_import_does_not_overwrite_its_own_items(
    engine: Engine, tmp_path: Path, batch: int
) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in files:
        rows = [{"id": name, "sentences": [f"red {file.stem}"]} for name in "xyz"]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    outcomes = list(
        import_sources(
            engine, "default", find(files), batch=batch, most_bytes=10**6, overwrite=True
        )
    )
    assert Counter(one.status for one in outcomes) == {"stored": 3, "refused": 3}
    assert {item(engine, name).sentences for name in "xyz"} == {("red a",)}


def test_a_change_of_metadata_embeds_nothing(
    engine: Engine, shop: Path, embedded: list[str]
) -> None:
    bring(engine, shop)
    before = engine.item_bag("default", "1").vectors
    embedded.clear()
    shop.write_text(shop.read_text().replace("price", "Price").replace(",5", ",4.50"))
    assert bring(engine, shop) == {"1": "patched", "2": "skipped"}
    assert embedded == []
    assert item(engine, "1").metadata == {"title": "Boot", "price": 4.5}
    assert (engine.item_bag("default", "1").vectors == before).all()
    assert bring(engine, shop) == {"1": "skipped", "2": "skipped"}


@pytest.mark.parametrize("moved", [False, True])
def test_lost_pictures_are_stored_again_after_the_repair(
    engine: Engine, shop: Path, tmp_path: Path, png: Png, moved: bool
) -> None:
    photo = tmp_path / "photos" / "green.png"
    photo.parent.mkdir()
    photo.write_bytes(png("green"))
    bring(engine, shop, photo.parent)
    home = engine.open("default")
    (green,) = {row.id for row in engine.catalog.list_items(home, limit=9)} - {"1", "2"}
    patch(engine.catalog, home, green, Change({"rating": 5}))
    for name in list(engine.catalog.pictures.names()):
        (next(tmp_path.rglob(f"{name}.jpg"))).write_bytes(b"damaged")
    for finding in list(check_items(engine.catalog, home, lambda *_: None)):
        assert finding.repair is not None
        finding.repair()
    if moved:
        photo = photo.rename(photo.with_name("lawn.png"))
    assert {*bring(engine, shop, photo.parent).values()} == {"stored"}
    assert list(check_items(engine.catalog, home, lambda *_: None)) == []
    assert item(engine, green).metadata["rating"] == 5
    assert item(engine, green).source == str(photo)
    assert {*bring(engine, shop, photo.parent).values()} == {"skipped"}


def test_metadata_of_photos_at_an_address_change_without_a_fetch(
    engine: Engine, tmp_path: Path, png: Png
) -> None:
    file = tmp_path / "shop.csv"
    for price, expected in (("5", "stored"), ("4", "patched")):
        file.write_text(f"sku,title,image,price\n1,Boot,http://a.test/1.png,{price}\n")
        fetched = list[str]()

        def fetch(url: str, seen: list[str] = fetched) -> bytes:
            seen.append(url)
            return png("red")

        with open_table(file, {}) as table:
            (outcome,) = import_sources(
                engine, "default", table.sources(), batch=2, most_bytes=10**6, fetch=fetch
            )
        assert (outcome.status, len(fetched)) == (expected, int(expected == "stored"))


def test_other_photos_and_sentences_are_embedded(
    engine: Engine, shop: Path, embedded: list[str], png: Png
) -> None:
    bring(engine, shop)
    embedded.clear()
    (shop.parent / "red.png").write_bytes(png("lime"))
    shop.write_text(shop.read_text().replace("Shoe", "Sandal"))
    assert bring(engine, shop) == {"1": "stored", "2": "stored"}
    assert embedded == ["1", "2"]


def test_lines_with_other_metadata_keep_their_vectors(
    engine: Engine, tmp_path: Path, embedded: list[str], png: Png
) -> None:
    (tmp_path / "red.png").write_bytes(png("red"))
    lines = tmp_path / "items.jsonl"
    for year, expected in ((2025, "stored"), (2026, "patched")):
        row = {"id": "a", "image": "red.png", "sentences": ["red"], "metadata": {"year": year}}
        lines.write_text(json.dumps(row))
        assert bring(engine, lines) == {"a": expected}
    assert embedded == ["a"]
    assert item(engine, "a").metadata == {"year": 2026}


def test_a_moved_library_keeps_its_vectors(
    engine: Engine, shop: Path, tmp_path: Path, embedded: list[str]
) -> None:
    bring(engine, shop, shop.parent)
    ids = sorted(embedded)
    moved = tmp_path / "disk" / "shop"
    moved.parent.mkdir()
    shutil.move(shop.parent, moved)
    outcomes = bring(engine, moved / shop.name, moved)
    assert outcomes == dict.fromkeys(ids, "patched") | {str(moved / shop.name): "unread"}
    assert sorted(embedded) == ids
    assert item(engine, "1").source == f"{moved / shop.name}#1"
    assert item(engine, "shop/red.png").source == str(moved / "red.png")
    assert set(bring(engine, moved / shop.name, moved).values()) == {"skipped", "unread"}


def test_a_copied_library_does_not_take_the_items_of_the_first(
    engine: Engine, shop: Path, tmp_path: Path
) -> None:
    bring(engine, shop.parent)
    copy = tmp_path / "disk" / "shop"
    shutil.copytree(shop.parent, copy)
    outcomes = bring(engine, copy)
    assert set(outcomes.values()) == {"stored", "unread"}
    assert item(engine, "shop/red.png").source == str(shop.parent / "red.png")


def test_an_item_that_changed_meanwhile_is_stored_whole(
    engine: Engine, shop: Path, embedded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(engine, shop)
    embedded.clear()
    shop.write_text(shop.read_text().replace(",5", ",4"))
    look_up = engine.catalog.get_many

    def change_after(home: Any, ids: Any, damaged: Any = None) -> Any:
        stored = look_up(home, ids, damaged)
        monkeypatch.undo()
        engine.catalog.delete(home, "1")
        return stored

    monkeypatch.setattr(engine.catalog, "get_many", change_after)
    assert bring(engine, shop) == {"1": "stored", "2": "skipped"}
    assert item(engine, "1").metadata["price"] == 4


def test_metadata_that_cannot_be_stored_refuse_their_row_alone(engine: Engine, shop: Path) -> None:
    bring(engine, shop)
    large = "x" * (engine.catalog.storage.item_text + 1)
    shop.write_text(
        shop.read_text()
        .replace("price", "price,note")
        .replace(",5", f",5,{large}")
        .replace(",6", ",7,")
    )
    assert bring(engine, shop) == {"1": "refused", "2": "patched"}
    assert item(engine, "1").metadata == {"title": "Boot", "price": 5}
