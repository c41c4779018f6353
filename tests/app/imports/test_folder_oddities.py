"""Odd files in folders end no import, and each is named."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from app.engine.drafts import PhotoFile
from app.engine.engine import Engine
from app.imports.file_metadata.reading import Sidecar
from app.imports.file_metadata.regular_files import NO_FILE
from app.imports.folder import find
from app.imports.photo_files import DirectDecoder
from app.imports.sources import ImportOutcome, ItemSource
from app.imports.storing import import_sources
from app.imports.tables.table import open_table
from index.items import LONGEST_ID

Png = Callable[..., bytes]


def run(engine: Engine, *paths: Path) -> dict[str, ImportOutcome]:
    """Import paths; each place's outcome."""
    outcomes = import_sources(engine, "default", find(paths), batch=2, most_bytes=10**6)
    return {outcome.place: outcome for outcome in outcomes}


@pytest.fixture
def folder(tmp_path: Path, png: Png) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "good.png").write_bytes(png("red"))
    return folder


def test_what_is_no_file_is_refused_by_name(engine: Engine, folder: Path) -> None:
    os.mkfifo(folder / "pipe.jpg")
    (folder / "zero.jpg").symlink_to("/dev/zero")
    (folder / "loop.jpg").symlink_to("loop.jpg")
    (folder / "lost.jpg").symlink_to("nowhere.jpg")
    (folder / "folder.jpg").symlink_to(folder)
    (folder / "dir.jpg").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "so.jpg"))
        outcomes = run(engine, folder)
    reasons = {Path(place).name: one.reason for place, one in outcomes.items()}
    assert reasons.pop("good.png") == ""
    assert reasons.pop("folder.jpg") == "links to folders read by another way"
    assert {name: bool(reason) for name, reason in reasons.items()} == dict.fromkeys(
        ("pipe.jpg", "zero.jpg", "loop.jpg", "lost.jpg", "so.jpg"), True
    )


# What people and systems put into names that is not printable, or looks like nothing.
NAMES = (
    *("Screenshot 2023-05-05 at 1.23.45\u202fPM", "no\u00a0break", "ideographic\u3000space"),
    *("family 👨\u200d👩\u200d👧", "می\u200cخواهم", "left\u200eto right", "soft\u00adhyphen"),
    *(
        "\ufeffmark",
        "zero\u200bwidth",
        "private\ue000use",
        "tab\there",
        "\x1b[31mred",
        " ",
        "ü" * 120,
    ),
)


def test_names_of_any_kind_are_stored(engine: Engine, folder: Path, png: Png) -> None:
    names = [b"a\nb.png", b"\xff\xfe.png", "\u202eabc.png".encode(), b"a" * 251 + b".png"]
    names += [f"{name}.png".encode() for name in NAMES]
    for name in names:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(png("red"))
    assert {outcome.status for outcome in run(engine, folder).values()} == {"stored"}
    assert {outcome.status for outcome in run(engine, folder).values()} == {"skipped"}
    home = engine.open("default")
    items = engine.catalog.list_items(home)
    expected = [name.decode("utf-8", "backslashreplace") for name in (*names, b"good.png")]
    assert [item.id for item in items] == sorted(f"photos/{name}" for name in expected)
    assert engine.catalog.get(home, "photos/\\xff\\xfe.png").photos


def test_a_folder_whose_path_is_no_utf_8_is_read_like_others(
    engine: Engine, tmp_path: Path, png: Png
) -> None:
    above = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    (above / "photos").mkdir(parents=True)
    (above / "photos" / "a.png").write_bytes(png("red"))
    (above / "items.jsonl").write_text('{"id": "x", "sentences": ["red"]}\n')
    (above / "shop.csv").write_text("id,title\ny,blue\n")
    paths = above / "photos", above / "items.jsonl"
    assert [one.status for one in run(engine, *paths).values()] == ["stored", "stored"]
    assert [one.status for one in run(engine, *paths).values()] == ["skipped", "skipped"]
    with open_table(above / "shop.csv", {}) as table:
        outcomes = [*import_sources(engine, "default", table.sources(), batch=2, most_bytes=10**6)]
    assert [outcome.status for outcome in outcomes] == ["stored"]
    (other := tmp_path / "photos").mkdir()
    (other / "a.png").write_bytes(png("blue"))
    assert run(engine, other)[str(other / "a.png")].status == "stored"
    (above / "photos" / "a.png").rename(other / "b.png")
    assert run(engine, other)[str(other / "b.png")].change == "renamed"


def test_a_path_longer_than_an_id_keeps_its_ends_and_is_of_its_own(
    engine: Engine, folder: Path, png: Png
) -> None:
    deep = folder.joinpath(*["äöü" * 30] * 8)
    deep.mkdir(parents=True)
    for name in ("a.png", "b.png"):
        (deep / name).write_bytes(png("red"))
    assert {outcome.status for outcome in run(engine, folder).values()} == {"stored"}
    ids = [item.id for item in engine.catalog.list_items(engine.open("default"))]
    long = [item for item in ids if item != "photos/good.png"]
    assert len(long) == 2
    for item, name in zip(sorted(long, key=lambda item: item[-5:]), ("a", "b"), strict=True):
        assert len(item.encode()) <= LONGEST_ID
        assert item.startswith("photos/äöü")
        assert item.endswith(f"äöü/{name}.png")


def test_a_path_that_is_too_long_is_refused_by_name(
    engine: Engine, folder: Path, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for _ in range(20):
        Path("d" * 250).mkdir()
        os.chdir("d" * 250)
    Path("deep.png").write_bytes(png("red"))
    outcomes = run(engine, folder)
    assert sorted(outcome.status for outcome in outcomes.values()) == ["refused", "stored"]
    assert any("too long" in outcome.reason for outcome in outcomes.values())


def test_a_sparse_file_is_refused_unread(engine: Engine, folder: Path) -> None:
    with (folder / "huge.jpg").open("wb") as file:
        file.truncate(100 * 10**9)
    outcomes = run(engine, folder)
    assert "100,000,000,000 bytes" in outcomes[str(folder / "huge.jpg")].reason


@pytest.mark.parametrize("change", ["vanishes", "becomes a pipe", "grows", "becomes a folder"])
def test_a_file_that_changes_before_it_is_read_is_refused_alone(
    engine: Engine, folder: Path, png: Png, change: str
) -> None:
    file = folder / "change.png"
    file.write_bytes(png("red"))

    def sources() -> Iterator[ItemSource | ImportOutcome]:
        for source in find([folder]):
            if isinstance(source, ItemSource) and source.place == str(file):
                file.unlink()
                if change == "becomes a pipe":
                    os.mkfifo(file)
                elif change == "becomes a folder":
                    file.mkdir()
                elif change == "grows":
                    file.write_bytes(png("red") + bytes(10**6))
            yield source

    outcomes = import_sources(engine, "default", sources(), batch=2, most_bytes=10**6)
    statuses = {Path(one.place).name: one.status for one in outcomes}
    assert statuses == {"change.png": "refused", "good.png": "stored"}


def test_whatever_a_decoder_raises_refuses_its_photo_alone(engine: Engine, folder: Path) -> None:
    (folder / "odd.png").write_bytes(b"odd")

    class Failing(DirectDecoder):
        def read(self, file: bytes | Path, sidecars: Sequence[Sidecar] = ()) -> PhotoFile:
            if file == b"odd":
                raise TypeError("odd")
            return super().read(file, sidecars)

    imported = import_sources(
        engine, "default", find([folder]), batch=1, most_bytes=9999, decode=Failing()
    )
    outcomes = list(imported)
    assert {one.status for one in outcomes} == {"stored", "refused"}


def test_lines_of_a_pipe_are_not_waited_for(engine: Engine, folder: Path) -> None:
    os.mkfifo(folder / "items.jsonl")
    (outcome,) = run(engine, folder / "items.jsonl").values()
    assert outcome.reason == NO_FILE
