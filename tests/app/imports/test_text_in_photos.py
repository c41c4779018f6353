"""Text in photos is stored with their metadata, and follows the setting."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from app.engine.drafts import Draft, PhotoFile
from app.engine.engine import Engine
from app.imports import photo_decoders
from app.imports.file_metadata.reading import Sidecar
from app.imports.folder import find
from app.imports.photo_decoders import Allowance, Decoders
from app.imports.photo_files import DirectDecoder, FileReading
from app.imports.source_reading import add_photos
from app.imports.sources import ImportOutcome
from app.imports.storing import import_sources
from app.settings import Settings
from benchmarks.photos.files import draw, write_animation, write_picture
from benchmarks.photos.signs import draw_sign
from index.catalog import edits as editing
from index.catalog.edits import Change
from index.items import ANY
from models.types import Box
from models.vision.photo_decoding import FOOTAGE_BYTES
from models.vision.visible_words import VisibleWord

MOST_BYTES = 10**7
SIGN = VisibleWord("EXIT", Box(0.1, 0.2, 0.4, 0.3), 0)
INSTALLED = importlib.util.find_spec("rapidocr") is not None


class ReadingDecoder(DirectDecoder):
    """Stands for the decoder with text."""

    def read(self, file: bytes | Path, sidecars: Sequence[Sidecar] = ()) -> PhotoFile:
        read = super().read(file, sidecars)
        return replace(read, words=((SIGN,),) * len(read.copies))


def run(engine: Engine, folder: Path, *, texts: bool) -> list[ImportOutcome]:
    decode = ReadingDecoder() if texts else DirectDecoder()
    sources = find([folder], reading=FileReading(texts=texts))
    return [
        *import_sources(engine, "default", sources, batch=8, most_bytes=MOST_BYTES, decode=decode)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "photos"
    place.mkdir()
    (place / "a.jpg").write_bytes(write_picture("JPEG", draw(1, 60, 40)))
    return place


def test_stored_photos_get_their_text_and_are_not_embedded_again(
    engine: Engine, folder: Path
) -> None:
    assert [outcome.status for outcome in run(engine, folder, texts=False)] == ["stored"]
    home = engine.open("default")
    before = engine.catalog.get(home, "photos/a.jpg")
    assert [outcome.status for outcome in run(engine, folder, texts=True)] == ["patched"]
    after = engine.catalog.get(home, "photos/a.jpg")
    text = {"text": "EXIT", "text_boxes": [[0, 0.1, 0.2, 0.4, 0.3]]}
    assert after.metadata == before.metadata | text
    assert [outcome.status for outcome in run(engine, folder, texts=True)] == ["skipped"]
    assert [outcome.status for outcome in run(engine, folder, texts=False)] == ["patched"]
    assert engine.catalog.get(home, "photos/a.jpg").metadata == before.metadata


def test_a_corrected_text_stays_when_it_is_read_again(engine: Engine, folder: Path) -> None:
    run(engine, folder, texts=True)
    home = engine.open("default")
    change = Change({"text": "EXIST"}, None, ..., None)
    editing.patch(engine.catalog, home, "photos/a.jpg", change, ANY)
    (folder / "a.jpg").write_bytes(write_picture("JPEG", draw(2, 60, 40)))
    assert [outcome.status for outcome in run(engine, folder, texts=True)] == ["stored"]
    assert engine.catalog.get(home, "photos/a.jpg").metadata["text"] == "EXIST"


def test_a_line_with_metadata_of_its_photo_is_read_again_for_its_text(
    engine: Engine, folder: Path
) -> None:
    lines = folder / "items.jsonl"
    lines.write_text(json.dumps({"id": "a", "image": "a.jpg", "read_metadata": True}))
    assert [outcome.status for outcome in run(engine, lines, texts=False)] == ["stored"]
    assert [outcome.status for outcome in run(engine, lines, texts=True)] == ["patched"]
    assert engine.catalog.get(engine.open("default"), "a").metadata["text"] == "EXIT"


def test_words_of_several_photos_have_their_photos_numbers(folder: Path) -> None:
    photos = [(folder / "a.jpg").read_bytes(), write_animation(1)]
    draft = add_photos(Draft("a"), photos, ReadingDecoder(), FileReading(of_folder=False))
    boxes = draft.metadata["text_boxes"]
    assert [box[0] for box in boxes] == list(range(len(draft.pictures)))
    assert len(boxes) > 2


def test_a_sent_text_is_without_the_boxes_of_another(folder: Path) -> None:
    sent = Draft("a", {"text": "Our own words"})
    photo = (folder / "a.jpg").read_bytes()
    draft = add_photos(sent, [photo], ReadingDecoder(), FileReading(of_folder=False))
    assert draft.metadata["text"] == "Our own words"
    assert "text_boxes" not in draft.metadata


def test_the_setting_without_the_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.vision.visible_words.find_spec", lambda name: None)
    assert Allowance.of(Settings()).text_seconds == 0
    with pytest.raises(ValueError, match=r"ocr\s+.*make install EXTRAS=ocr"):
        Settings(ocr=True)


def write_sign(text: str) -> bytes:
    file = BytesIO()
    draw_sign(text, Image.new("RGB", (800, 600), "gray"), 0.1).image.save(file, "PNG")
    return file.getvalue()


def allow(seconds: int) -> Allowance:
    return Allowance(10**6, 10**7, 60, 2**30, FOOTAGE_BYTES, seconds)


@pytest.mark.system
@pytest.mark.skipif(not INSTALLED, reason="the extra ocr is not installed")
@pytest.mark.timeout(600)
def test_text_is_read_in_a_bounded_process_and_never_costs_the_photo(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Decoders(1, allow(60)) as decode:
        read = decode.read(write_sign("EXIT 24"))
        assert ([[word.text for word in words] for words in read.words], read.notes) == (
            [["EXIT", "24"]],
            (),
        )
        assert decode(write_sign("EXIT")).width == 800  # for a search: not read
        (process,) = decode._alive
    assert process.ended
    monkeypatch.setattr(photo_decoders, "TEXT_MEMORY", 2**20)
    with Decoders(1, replace(allow(60), memory=2**28)) as decode:
        short = decode.read(write_sign("EXIT"))
        assert (short.copies[0].width, short.words) == (800, ((),))
        assert short.notes[0].startswith("its text was not read: ")
        assert decode(write_sign("EXIT")).width == 800  # and it goes on
