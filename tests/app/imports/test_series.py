"""Near-duplicates among imported photos get and keep a series."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.engine import Engine
from app.imports.departed import Departures
from app.imports.folder import find
from app.imports.folders import series
from app.imports.folders.series import Grouped, group_photos
from app.imports.storing import import_sources
from index.catalog import edits
from index.catalog.edits import Change
from index.database import series_rows

Png = Callable[..., bytes]


@pytest.fixture
def folder(tmp_path: Path, engine: Engine, png: Png) -> Path:
    """A folder of two copies of a photo and another one, grouped."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, colour in {"a": "red", "copy": "red", "b": "blue"}.items():
        (folder / f"{name}.png").write_bytes(png(colour))
    assert scan(engine, folder) == Grouped(compared=3, changed=2)
    return folder


def scan(engine: Engine, folder: Path) -> Grouped:
    """Import a folder, delete departed items, and group photos."""
    departures = Departures(folder)
    outcomes = import_sources(
        engine, "default", departures.watch(find([folder])), batch=4, most_bytes=10**6
    )
    assert not [outcome for outcome in outcomes if outcome.status == "refused"]
    departures.delete(engine, engine.open("default"), 1)
    return group_photos(engine, "default")


def named(engine: Engine) -> dict[str, object]:
    """The series of items by name; the first one is 0."""
    listed = engine.catalog.list_items(engine.open("default"))
    return {Path(item.id).stem: item.metadata.get("series") for item in listed}


def patch(engine: Engine, item: str, value: object) -> None:
    edits.patch(engine.catalog, engine.open("default"), item, Change({"series": value}))


def test_copies_are_a_series_and_nothing_is_compared_twice(
    engine: Engine, folder: Path, png: Png
) -> None:
    first = named(engine)
    assert first["a"] == first["copy"] is not None
    assert first["b"] is None
    assert scan(engine, folder) == Grouped()
    (folder / "again.png").write_bytes(png("red", size=(80, 60)))
    assert scan(engine, folder) == Grouped(compared=1, changed=1)
    assert named(engine) == {**first, "again": first["a"]}
    assert scan(engine, folder) == Grouped()


def test_what_an_owner_wrote_under_the_key_stays(engine: Engine, folder: Path, png: Png) -> None:
    patch(engine, "photos/copy.png", "Harry Potter")
    patch(engine, "photos/b.png", "trilogy")
    (folder / "b2.png").write_bytes(png("blue"))
    scan(engine, folder)
    values = {"a": None, "copy": "Harry Potter", "b": "trilogy", "b2": None}
    assert named(engine) == values


def test_a_photo_that_is_taken_out_of_its_series_stays_out(
    engine: Engine, folder: Path, png: Png
) -> None:
    patch(engine, "photos/copy.png", None)
    (folder / "third.png").write_bytes(png("red"))
    scan(engine, folder)
    after = named(engine)
    assert after["copy"] is None
    assert after["a"] == after["third"] is not None
    (folder / "copy.xmp").write_text("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>")  # read again
    scan(engine, folder)
    assert named(engine) == after


def test_a_series_outlives_its_first_photo_and_ends_with_the_last_but_one(
    engine: Engine, folder: Path, png: Png
) -> None:
    (folder / "third.png").write_bytes(png("red"))
    scan(engine, folder)
    before = named(engine)
    (folder / "a.png").unlink()
    scan(engine, folder)
    assert named(engine) == {name: before[name] for name in ("b", "copy", "third")}
    (folder / "third.png").unlink()
    scan(engine, folder)
    assert named(engine) == {"b": None, "copy": None}


def test_moved_and_described_photos_stay_in_their_series(engine: Engine, folder: Path) -> None:
    before = named(engine)
    (folder / "a.png").rename(folder / "moved.png")
    scan(engine, folder)
    (folder / "copy.xmp").write_text("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>")
    scan(engine, folder)
    assert named(engine) == before


def test_a_replaced_photo_leaves_its_series(engine: Engine, folder: Path, png: Png) -> None:
    (folder / "copy.png").write_bytes(png("lime"))
    os.utime(folder / "copy.png", (1, 1))
    scan(engine, folder)
    assert named(engine) == {"a": None, "b": None, "copy": None}


def test_series_keep_their_names_when_all_photos_are_compared_again(
    engine: Engine, folder: Path
) -> None:
    before = named(engine)
    with engine.catalog.writer.begin() as connection:
        series_rows.discard(connection, engine.open("default").token)
    assert group_photos(engine, "default") == Grouped(compared=3, changed=0)
    assert named(engine) == before


def test_an_interrupted_grouping_is_completed_by_the_next(
    engine: Engine, folder: Path, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (folder / f"{number}.png").write_bytes(png("lime"))

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(series, "_note_compared", fail)
    with pytest.raises(KeyboardInterrupt):
        scan(engine, folder)
    before = named(engine)
    monkeypatch.undo()
    assert scan(engine, folder) == Grouped(compared=3, changed=0)
    assert named(engine) == before


def test_photos_that_were_put_over_http_are_left_alone(
    engine: Engine, folder: Path, png: Png
) -> None:
    from app.engine.drafts import Draft
    from tests.stored_items import put

    put(engine, "default", [Draft("sent").with_photo(png("red"))])
    scan(engine, folder)
    assert named(engine)["sent"] is None
