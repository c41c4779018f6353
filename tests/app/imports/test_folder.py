"""Folders and .jsonl files become items once, changed ones again."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app import demos
from app.engine.engine import Engine
from app.imports import item_lines
from app.imports.folder import find
from app.imports.sources import ItemSource
from app.imports.storing import import_sources
from index.items import Collection, Replaced

Png = Callable[..., bytes]
MOST_BYTES = 10**6


def run(engine: Engine, *paths: Path) -> dict[str, tuple[str, str]]:
    """Import paths; outcomes of all but unread places by name."""
    outcomes = import_sources(engine, "default", find(paths), batch=2, most_bytes=MOST_BYTES)
    read = (one for one in outcomes if one.status != "unread")
    return {Path(one.place).name: (one.status, one.reason) for one in read}


def stored(engine: Engine) -> list[str]:
    return [item.id for item in engine.catalog.list_items(engine.open("default"))]


@pytest.fixture
def photos(tmp_path: Path, png: Png) -> Path:
    folder = tmp_path / "photos"
    (folder / "sub" / ".hidden").mkdir(parents=True)
    for name in ("a.png", "b.PNG", "sub/c.png", "sub/.hidden/d.png", ".e.png"):
        (folder / name).write_bytes(png("red"))
    (folder / "notes.txt").write_text("no photo")
    (folder / "broken.jpg").write_text("no photo")
    return folder


def test_photos_of_a_folder_are_found_and_broken_ones_named(engine: Engine, photos: Path) -> None:
    outcomes = run(engine, photos)
    assert stored(engine) == ["photos/a.png", "photos/b.PNG", "photos/sub/c.png"]
    assert outcomes.keys() == {"a.png", "b.PNG", "c.png", "broken.jpg"}
    assert outcomes["broken.jpg"][0] == "refused"
    assert "not an image" in outcomes["broken.jpg"][1]


def test_second_import_reads_only_what_changed(engine: Engine, photos: Path, png: Png) -> None:
    run(engine, photos)
    (photos / "a.png").write_bytes(png("blue", size=(50, 50)))
    outcomes = run(engine, photos)
    assert {name: status for name, (status, _) in outcomes.items()} == {
        "a.png": "stored",
        "b.PNG": "skipped",
        "c.png": "skipped",
        "broken.jpg": "refused",
    }
    assert engine.catalog.get(engine.open("default"), "photos/a.png").photos[0].width == 50


def test_time_of_change_counts_too(engine: Engine, photos: Path) -> None:
    run(engine, photos)
    os.utime(photos / "a.png", ns=(1, 1))
    assert run(engine, photos)["a.png"][0] == "patched"  # it is read, and is the same photo
    assert run(engine, photos)["a.png"][0] == "skipped"


def test_id_of_another_source_is_not_taken(
    engine: Engine, photos: Path, tmp_path: Path, png: Png
) -> None:
    other = tmp_path / "other" / "photos"
    other.mkdir(parents=True)
    (other / "a.png").write_bytes(png("blue", size=(9, 9)))
    run(engine, photos)
    assert run(engine, other)["a.png"] == ("stored", "")
    first, second = (item for item in stored(engine) if item.startswith("photos/a.png"))
    assert (first, len(second)) == ("photos/a.png", len("photos/a.png~") + 8)
    assert engine.catalog.get(engine.open("default"), first).source == str(photos / "a.png")
    (photos / "a.png").unlink()
    assert run(engine, other)["a.png"][0] == "skipped"


@pytest.mark.parametrize("batch", [1, 2])
def test_photos_of_one_name_are_both_stored(
    engine: Engine, tmp_path: Path, png: Png, batch: int
) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_bytes(png("red"))
    paths = [tmp_path / "x" / "a.png", tmp_path / "y" / "a.png"]
    for status in ("stored", "skipped"):
        work = import_sources(engine, "default", find(paths), batch=batch, most_bytes=MOST_BYTES)
        assert [one.status for one in work] == [status] * 2
    assert len(stored(engine)) == 2


def test_lines_may_begin_with_a_byte_order_mark(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text('{"id": "a", "sentences": ["red"]}\n', "utf-8-sig")
    run(engine, file)
    assert stored(engine) == ["a"]


def test_lines_bring_photos_sentences_and_metadata(
    engine: Engine, tmp_path: Path, png: Png
) -> None:
    (tmp_path / "p.png").write_bytes(png("red"))
    lines = [
        {"id": "x", "image": "p.png", "sentences": ["red"], "metadata": {"a": 1}},
        {"image": "p.png"},
        {"sentences": ["blue"]},
        {"id": "nothing"},
        {"image": "missing.png"},
        {"colour": "red"},
        {"id": 7, "sentences": ["red"]},
        {"id": "s", "sentences": "red"},
        {"id": "m", "sentences": ["red"], "metadata": []},
        *({"id": "i", "images": odd} for odd in (5, None, "p.png", {"p.png": 1}, [1])),
        {"image": ["p.png"]},
    ]
    file = tmp_path / "lines.jsonl"
    twice = '{"id": "t", "sentences": ["red"], "sentences": ["blue"]}'
    file.write_text("\n".join([*map(json.dumps, lines), "", "{", twice]))
    outcomes = run(engine, file)
    assert stored(engine) == ["lines-3", "p.png", "x"]
    refused = {name: reason for name, (status, reason) in outcomes.items() if status == "refused"}
    assert len(refused) == 14
    assert "neither a picture nor a sentence" in refused["lines.jsonl#nothing"]
    assert "missing.png" in refused["lines.jsonl:5"]
    assert "'colour' is no key of an item" in refused["lines.jsonl:6"]
    assert "id: a text" in refused["lines.jsonl:7"]
    assert "sentences: a list" in refused["lines.jsonl:8"]
    assert all("images: a list of texts" in refused[f"lines.jsonl:{row}"] for row in range(10, 15))
    assert "image: the path of a photo" in refused["lines.jsonl:15"]
    assert "the key 'sentences' is there twice" in refused["lines.jsonl:18"]
    assert "metadata" in refused["lines.jsonl#m"]
    assert engine.catalog.get(engine.open("default"), "x").metadata == {"a": 1}


def test_line_that_is_too_long_is_refused_and_the_next_is_read(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(item_lines, "LONGEST_LINE", 60)
    lines = ['{"id": "a", "sentences": ["red"]}', "x" * 200, '{"id": "b", "sentences": ["red"]}']
    for ending in ("\n", ""):
        (tmp_path / "lines.jsonl").write_text("\n".join([*lines, "y" * 61]) + ending)
        outcomes = [str(one) for one in find([tmp_path / "lines.jsonl"])]
        assert ["longer than 60 bytes" in one for one in outcomes] == [False, True, False, True]
        assert "lines.jsonl:2" in outcomes[1]


def test_missing_path_is_refused(engine: Engine, tmp_path: Path) -> None:
    assert run(engine, tmp_path / "none")["none"] == ("refused", "there is no such file or folder")


def test_interrupted_import_keeps_what_it_said_is_stored(engine: Engine, photos: Path) -> None:
    work = import_sources(engine, "default", find([photos]), batch=1, most_bytes=MOST_BYTES)
    first = next(outcome for outcome in work if outcome.status != "unread")
    work.close()
    assert first.status == "stored"
    assert stored(engine) == ["photos/a.png"]
    assert run(engine, photos)["a.png"][0] == "skipped"


def test_import_asks_little_and_holds_little(
    engine: Engine, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(engine, photos)
    (known,) = find([photos / "a.png"])
    assert isinstance(known, ItemSource)
    asked, taken = list[int](), 0
    lookup = engine.catalog.stamps

    def counted(home: Collection, places: Sequence[str]) -> dict[str, str | None]:
        asked.append(len(places))
        return lookup(home, places)

    def compared(*_: object) -> bool:
        raise AssertionError("sources are looked up, not compared")

    def stream() -> Iterator[ItemSource]:
        nonlocal taken
        for number in range(5_000):
            taken += 1
            yield known if number % 50 else ItemSource(f"{number}", f"{number}", "", (), ("red",))

    monkeypatch.setattr(engine.catalog, "stamps", counted)
    monkeypatch.setattr(ItemSource, "__eq__", compared)
    outcomes = import_sources(engine, "default", stream(), batch=4, most_bytes=MOST_BYTES)
    next(outcomes)
    assert taken == 500
    statuses = ["stored", *(one.status for one in outcomes)]
    assert (statuses.count("stored"), statuses.count("skipped")) == (101, 4_899)
    assert asked == [500] * 10


def test_sample_photos_are_brought_in_once(engine: Engine) -> None:
    sources = demos.PHOTOS.sources()
    for expected in ("stored", "skipped"):
        outcomes = list(import_sources(engine, "default", sources, batch=16, most_bytes=MOST_BYTES))
        assert [outcome.status for outcome in outcomes] == [expected] * len(sources)
    item = engine.catalog.get(engine.open("default"), "astronaut")
    assert item.metadata["credit"] == "NASA"


@pytest.mark.parametrize("name", ["C#", "a#b#c"])
def test_sources_below_a_folder_with_a_number_sign_keep_their_ids(
    engine: Engine, tmp_path: Path, png: Png, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"id": "x#1", "sentences": ["red"]}\n')
    (folder / "red.png").write_bytes(png("red"))
    other = tmp_path / "other.jsonl"
    ids = ("x#1", f"{name}/red.png")
    other.write_text("".join(json.dumps({"id": one, "sentences": ["blue"]}) + "\n" for one in ids))
    assert {status for status, _ in run(engine, folder, folder / "a.jsonl").values()} == {"stored"}
    for status, reason in run(engine, other).values():
        assert (status, "is taken by" in reason) == ("refused", True)
    for file in (folder / "a.jsonl", folder / "red.png"):
        file.unlink()
    assert {status for status, _ in run(engine, other).values()} == {"stored"}


def test_an_id_twice_in_a_file_of_items_refuses_the_second_line(
    engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "items.jsonl"
    lines = [{"id": "a", "sentences": ["red"]}, {"id": "a", "sentences": ["blue"]}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for status in ("stored", "skipped"):
        outcomes = list(
            import_sources(engine, "default", find([file]), batch=2, most_bytes=MOST_BYTES)
        )
        refused = [each for each in outcomes if each.status == "refused"]
        assert [each.reason for each in refused] == ["the id 'a' is that of line 1 too"]
        assert [each.status for each in outcomes if each not in refused] == [status]
    assert engine.catalog.get(engine.find("default"), "a").sentences == ("red",)


def test_what_has_no_end_or_is_too_long_is_refused_unread(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    os.mkfifo(folder / "pipe.jpg")
    with (folder / "sparse.jpg").open("wb") as sparse:
        sparse.truncate(3 * 2**30)
    (folder / "lines.jsonl").write_text('{"id": "zero", "image": "/dev/zero"}\n')
    outcomes = run(engine, folder, folder / "lines.jsonl", Path("/dev/zero"))
    assert outcomes == {
        "pipe.jpg": ("refused", "this is no regular file"),
        "zero": ("refused", "this is no regular file"),
        "lines.jsonl:1": ("refused", "this is no regular file"),
        "sparse.jpg": (
            "refused",
            "the image has 3,221,225,472 bytes; send one of at most 1,000,000 bytes",
        ),
    }


def test_folder_that_cannot_be_read_is_named_and_the_others_are_stored(
    engine: Engine, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse_one(path: str) -> Any:
        if Path(path).name == "sub":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse_one)
    outcomes = run(engine, photos)
    assert outcomes["sub"] == ("refused", "it cannot be read: Permission denied")
    assert stored(engine) == ["photos/a.png", "photos/b.PNG"]


def test_path_that_cannot_be_looked_at_stops_no_others(
    engine: Engine, photos: Path, tmp_path: Path
) -> None:
    long = tmp_path / ("x" * 300)
    assert run(engine, long, photos / "a.png")[long.name][0] == "refused"
    assert stored(engine) == ["a.png"]


def test_half_a_character_in_an_id_is_refused_and_the_rest_stored(
    engine: Engine, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        '{"id": "\\ud800", "sentences": ["red"]}\n'
        '{"id": "odd", "sentences": ["red"], "metadata": {"a": "\\ud800"}}\n'
        '{"id": "whole", "sentences": ["red"]}\n'
    )
    outcomes = run(engine, lines)
    assert stored(engine) == ["whole"]
    assert outcomes["lines.jsonl:1"][0] == "refused"
    assert outcomes["lines.jsonl#odd"][0] == "refused"


def test_an_import_names_what_it_read_for_a_collection_that_was_dropped(
    engine: Engine,
) -> None:
    sources = [ItemSource(f"{n}", f"place {n}", "1", sentences=("red",)) for n in range(9)]
    told: list[tuple[str, str]] = []

    def bring() -> None:
        for one in import_sources(engine, "shop", sources, batch=3, most_bytes=MOST_BYTES):
            told.append((one.place, one.status))
            if len(told) == 3:
                engine.catalog.names.drop("shop")
                engine.open("shop", create=True)  # by someone else

    with pytest.raises(Replaced, match="'shop' is not the one"):
        bring()
    assert told == [(f"place {n}", "stored" if n < 3 else "refused") for n in range(len(told))]
    assert engine.catalog.count(engine.find("shop")) == 0


def test_whatever_a_photo_raises_refuses_it_alone(
    engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fetch(url: str) -> bytes:
        raise TypeError("url strings may not include unicode characters")

    sources = [
        ItemSource("a", "a", "1", sentences=("red",)),
        ItemSource("b", "b", "1", photos=("http://ä.test/",)),
        ItemSource("c", "c", "1", sentences=("red",)),
    ]
    outcomes = import_sources(
        engine, "default", sources, batch=3, most_bytes=MOST_BYTES, fetch=fetch
    )
    told = {one.place: (one.status, one.reason) for one in outcomes}
    assert (told["a"][0], told["c"][0]) == ("stored", "stored")
    assert told["b"] == ("refused", "the service failed on it (TypeError); its log says why")
    assert "unicode characters" in caplog.text
