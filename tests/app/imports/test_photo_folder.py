"""Of a folder as phones leave it all is found, or named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.engine.engine import Engine
from app.imports.file_metadata import pairs
from app.imports.folder import find
from app.imports.photo_files import DirectDecoder, FileReading
from app.imports.sources import ImportOutcome, ItemSource
from app.imports.storing import import_sources
from app.settings import Positions
from benchmarks.photos.files import (
    draw,
    write_dng,
    write_exif,
    write_pdf,
    write_picture,
    write_video,
    write_xmp,
)
from benchmarks.photos.folder import MadeFile, write_folder
from index.catalog import edits as editing
from index.catalog.edits import Change
from index.items import ANY

MOST_BYTES = 10**7


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[MadeFile]]:
    folder = tmp_path_factory.mktemp("made") / "photos"
    return folder, write_folder(folder, 40)


def run(engine: Engine, folder: Path, reading: FileReading | None = None) -> list[ImportOutcome]:
    sources = find([folder], reading=reading or FileReading())
    decode = DirectDecoder()
    return [
        *import_sources(engine, "default", sources, batch=8, most_bytes=MOST_BYTES, decode=decode)
    ]


def test_all_that_is_readable_is_found_and_the_rest_is_named(
    engine: Engine, made: tuple[Path, list[MadeFile]]
) -> None:
    folder, files = made
    outcomes = run(engine, folder)
    fates = {"stored": "item", "joined": "joined", "unread": "unread", "refused": "refused"}
    assert {outcome.place: fates[outcome.status] for outcome in outcomes} == {
        str(folder / file.file): file.fate for file in files
    }
    assert all(outcome.reason for outcome in outcomes if outcome.status != "stored")
    home = engine.open("default")
    for file in files:
        if file.fate == "item":
            item = engine.catalog.get(home, f"photos/{file.file}")
            assert file.metadata.items() <= item.metadata.items()
            assert item.metadata["folder"] == str(Path("photos", file.file).parent)
    second = {outcome.status for outcome in run(engine, folder)}
    assert second == {"skipped", "joined", "unread", "refused"}


def write(folder: Path, name: str, content: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("positions", "kept"),
    [
        ("full", {"latitude", "longitude", "city", "region", "country"}),
        ("places", {"city", "region", "country"}),
        ("none", set()),
    ],
)
def test_a_setting_keeps_positions_out(
    engine: Engine, tmp_path: Path, positions: Positions, kept: set[str]
) -> None:
    jpeg = write_picture("JPEG", draw(1, 60, 40), write_exif(place=(38.7125, -9.1393)))
    folder = write(tmp_path / "photos", "a.jpg", jpeg)
    run(engine, folder)
    (outcome,) = run(engine, folder, FileReading(positions))
    assert outcome.status == ("skipped" if positions == "full" else "patched")
    item = engine.catalog.get(engine.open("default"), "photos/a.jpg")
    assert kept == item.metadata.keys() & {"latitude", "longitude", "city", "region", "country"}


def test_photos_of_an_earlier_version_get_metadata_and_are_not_embedded_again(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exif = write_exif("2019:08:04 15:22:10", "+01:00", ImageDescription="A tram")
    folder = write(tmp_path / "photos", "a.jpg", write_picture("JPEG", draw(1, 60, 40), exif))
    (source,) = find([folder])
    assert isinstance(source, ItemSource)
    stamp = source.stamp.partition("-m")[0]  # as it was
    own = {"file": "photos/a.jpg", "description": "My own words", "album": "trams"}
    former = replace(source, reading=None, stamp=stamp, metadata=own)
    [*import_sources(engine, "default", [former], batch=1, most_bytes=MOST_BYTES)]

    def embed(*_: object) -> None:
        raise AssertionError("nothing is embedded")

    monkeypatch.setattr(type(engine), "put_each", lambda *given: embed() if given[3] else [])
    (outcome,) = run(engine, folder)
    assert outcome.status == "patched"
    item = engine.catalog.get(engine.open("default"), "photos/a.jpg")
    assert item.metadata["taken"] == "2019-08-04T15:22:10+01:00"
    assert (item.metadata["description"], item.metadata["album"]) == ("My own words", "trams")
    assert run(engine, folder)[0].status == "skipped"


def test_what_an_owner_changes_stays_as_the_file_changes(engine: Engine, tmp_path: Path) -> None:
    def photo(title: str, rating: int) -> bytes:
        return write_picture("JPEG", draw(1, 60, 40), xmp=write_xmp(rating, title, ["a"]))

    folder = write(tmp_path / "photos", "a.jpg", photo("First", 1))
    run(engine, folder)
    home = engine.open("default")
    change = Change({"title": "Mine", "keywords": None, "album": "x"}, None, ..., None)
    editing.patch(engine.catalog, home, "photos/a.jpg", change, ANY)
    write(folder, "a.jpg", photo("Second", 5))
    run(engine, folder)
    metadata = engine.catalog.get(home, "photos/a.jpg").metadata
    assert (metadata["title"], metadata["rating"], metadata["album"]) == ("Mine", 5, "x")
    assert "keywords" not in metadata


def test_a_changed_sidecar_changes_the_metadata_alone(engine: Engine, tmp_path: Path) -> None:
    folder = write(tmp_path / "photos", "a.jpg", write_picture("JPEG", draw(1, 60, 40)))
    write(folder, "a.jpg.xmp", write_xmp(3))
    run(engine, folder)
    write(folder, "a.jpg.xmp", write_xmp(4, "Sea"))
    assert {outcome.status for outcome in run(engine, folder)} == {"patched", "joined"}
    metadata = engine.catalog.get(engine.open("default"), "photos/a.jpg").metadata
    assert (metadata["rating"], metadata["title"]) == (4, "Sea")


def test_a_broken_photo_is_read_from_its_raw_file(engine: Engine, tmp_path: Path) -> None:
    jpeg = write_picture("JPEG", draw(1))
    folder = write(tmp_path / "photos", "a.jpg", jpeg[:500])
    write(folder, "a.dng", write_dng(jpeg, ("Canon", "Canon EOS R5"), "2021:06:13 10:11:12"))
    assert {outcome.status for outcome in run(engine, folder)} == {"stored", "joined"}
    metadata = engine.catalog.get(engine.open("default"), "photos/a.jpg").metadata
    assert (metadata["camera"], metadata["companions"]) == ("Canon EOS R5", ["photos/a.dng"])


def test_a_long_video_with_a_photos_name_is_an_item(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "photos", "a.jpg", write_picture("JPEG", draw(1, 60, 40)))
    write(folder, "a.mp4", write_video(1, 8, "mp4"))
    monkeypatch.setattr(pairs, "LONGEST_LIVE", 100)
    assert [outcome.status for outcome in run(engine, folder)] == ["stored", "stored"]
    item = engine.catalog.get(engine.open("default"), "photos/a.mp4")
    assert item.metadata["seconds"] == [0.0, 2.0, 5.0, 7.0]
    assert len(item.photos) == 4
    assert len({photo.digest for photo in item.photos}) == 4


def test_pages_of_a_pdf_are_the_photos_of_an_item(engine: Engine, tmp_path: Path) -> None:
    pages = [draw(number, 60, 40) for number in range(3)]
    folder = write(tmp_path / "photos", "a.pdf", write_pdf(*pages, title="Minutes"))
    write(folder, "a.jpg", write_picture("JPEG", pages[0]))
    assert [outcome.status for outcome in run(engine, folder)] == ["stored", "stored"]
    item = engine.catalog.get(engine.open("default"), "photos/a.pdf")
    assert (item.metadata["title"], item.metadata["pages"]) == ("Minutes", 3)
    assert len({photo.digest for photo in item.photos}) == 3
    assert [outcome.status for outcome in run(engine, folder)] == ["skipped", "skipped"]


def test_a_broken_pdf_is_refused_with_the_reason(engine: Engine, tmp_path: Path) -> None:
    folder = write(tmp_path / "photos", "a.pdf", write_pdf(draw(1))[:300])
    (outcome,) = run(engine, folder)
    assert (outcome.status, "broken or has a password" in outcome.reason) == ("refused", True)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.jpg", b"", "the file is empty"),
        ("a.mp4", b"", "the file is empty"),
        ("a.CR2", b"", "the file is empty"),
        (
            "a.CR2",
            b"II*\0" + bytes(100),
            "the raw file is broken or of an unknown camera (Unsupported file format or not RAW "
            "file); export it as a JPEG",
        ),
    ],
)
def test_empty_and_broken_files_are_refused_in_words(
    engine: Engine, tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (outcome,) = run(engine, write(tmp_path / "photos", name, content))
    assert (outcome.status, outcome.reason) == ("refused", reason)


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("VID_20220304_101112.mp4", "2022-03-04T10:11:12+01:00"),
        ("VID_20220303_221112.mp4", "2022-03-03T22:11:12-11:00"),
        ("VID_20220304_144112.mp4", "2022-03-04T14:41:12+05:30"),
        ("VID_20220304_091112.mp4", "2022-03-04T09:11:12+00:00"),
        ("VID_20220304_101812.mp4", "2022-03-04T09:11:12+00:00"),  # by no whole quarter
        ("VID_20220305_101112.mp4", "2022-03-04T09:11:12+00:00"),  # another day
        ("VID-20220304-WA0001.mp4", "2022-03-04T09:11:12+00:00"),
        ("PXL_20220304_091112000.mp4", "2022-03-04T09:11:12+00:00"),
        ("clip.mp4", "2022-03-04T09:11:12+00:00"),
    ],
)
def test_a_video_in_utc_has_the_local_time_of_its_name(
    tmp_path: Path, name: str, taken: str
) -> None:
    read = {"taken": "2022-03-04T09:11:12+00:00", "taken_from": "video"}
    assert FileReading().complete(read, tmp_path / name) == {**read, "taken": taken}


def test_stated_local_times_stay(tmp_path: Path) -> None:
    file = tmp_path / "VID_20220304_101112.mp4"
    for taken, source in (
        ("2022-03-04T09:11:12+00:00", "exif"),
        ("2022-03-04T09:11:12+02:00", "video"),
        ("2022-03-04", "video"),
    ):
        read = {"taken": taken, "taken_from": source}
        assert FileReading().complete(read, file) == read


def test_dates_of_videos_and_takeout_are_local_by_their_names(
    engine: Engine, tmp_path: Path
) -> None:
    video = write_video(1, 1, "mp4", {"creation_time": "2022-03-04T09:11:12Z"})
    folder = write(tmp_path / "photos", "VID_20220304_101112.mp4", video)
    for name in ("IMG_20190804_153210.jpg", "IMG_7.jpg", "IMG_7-edited.jpg", "IMG_7(1).jpg"):
        write(folder, name, write_picture("JPEG", draw(len(name), 60, 40)))
    sidecars = {
        "IMG_20190804_153210.jpg.json": 1564925530,
        "IMG_7.jpg.supplemental-metadata.json": 1400000000,
        "IMG_7.jpg.supplemental-meta(1).json": 1400086400,
    }
    for name, seconds in sidecars.items():
        write(folder, name, f'{{"photoTakenTime": {{"timestamp": "{seconds}"}}}}'.encode())
    run(engine, folder)
    listed = engine.catalog.list_items(engine.open("default"))
    assert {Path(item.id).name: item.metadata["taken"] for item in listed} == {
        "VID_20220304_101112.mp4": "2022-03-04T10:11:12+01:00",
        "IMG_20190804_153210.jpg": "2019-08-04T15:32:10+02:00",
        "IMG_7.jpg": "2014-05-13T16:53:20+00:00",
        "IMG_7-edited.jpg": "2014-05-13T16:53:20+00:00",
        "IMG_7(1).jpg": "2014-05-14T16:53:20+00:00",
    }


def test_videos_without_the_extra_are_named_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "photos", "a.MOV", write_video(1, 1))
    monkeypatch.setattr("app.imports.folder.can_read_videos", lambda: False)
    (outcome,) = find([folder])
    assert isinstance(outcome, ImportOutcome)
    assert outcome.status == "unread"
    assert outcome.reason == ".mov files, read after make install EXTRAS=video"
