"""Photos are decoded in processes of limited cost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from app.imports.file_metadata.reading import Sidecar
from app.imports.photo_decoders import Allowance, Decoders
from benchmarks.photos.files import (
    draw,
    write_dng,
    write_exif,
    write_pdf,
    write_picture,
    write_video,
    write_xmp,
)
from models.vision import images
from models.vision.photo_decoding import ImageError, ImageTooLarge, NotAnImage

ALLOWANCE = Allowance(most_bytes=10**6, most_pixels=10**7, seconds=60, memory=2**29)
Png = Callable[..., bytes]


@pytest.fixture(scope="module")
def decode() -> Iterator[Decoders]:
    with Decoders(1, ALLOWANCE) as decoders:
        yield decoders


def test_a_process_gives_what_this_one_would(decode: Decoders, png: Png) -> None:
    data = png("red", "blue", size=(2000, 1500))
    here, there = images.read(data), decode(data)
    assert torch.equal(here.pixels, there.pixels)
    assert (here.jpeg, here.notes) == (there.jpeg, there.notes)


def test_a_process_refuses_as_this_one_would_and_goes_on(decode: Decoders, png: Png) -> None:
    decode(png("red"))
    (process,) = decode._alive
    with pytest.raises(NotAnImage, match="not an image"):
        decode(b"no photo")
    with pytest.raises(ImageTooLarge, match="at most 10,000,000 are read"):
        decode(png("red", size=(5000, 2001)))
    with pytest.raises(ImageTooLarge, match="at most 1,000,000 bytes"):
        decode(b"x" * (10**6 + 1))
    assert decode._alive == {process}


def test_a_photo_that_takes_too_long_ends_its_process_and_the_next_is_decoded(png: Png) -> None:
    with Decoders(1, Allowance(10**6, 10**7, seconds=60, memory=2**29)) as decode:
        decode(png("red"))
        (process,) = decode._alive
        process.allowance = Allowance(10**6, 10**7, seconds=0, memory=2**29)
        with pytest.raises(ImageTooLarge, match="takes more than 0 seconds"):
            decode(png("red", size=(2000, 2000)))
        assert process.ended
        assert decode(png("red")).width == 40


def test_a_photo_that_takes_too_much_memory_is_refused(png: Png) -> None:
    with Decoders(1, Allowance(10**7, 10**8, seconds=60, memory=200 * 2**20)) as decode:
        with pytest.raises(ImageTooLarge, match="memory"):
            decode(png("red", size=(9000, 7000)))
        assert decode(png("red")).width == 40


def test_a_process_that_was_ended_by_others_is_replaced(png: Png) -> None:
    with Decoders(1, ALLOWANCE) as decode:
        decode(png("red"))
        (process,) = decode._alive
        os.kill(process.process.pid, 9)
        process.process.wait()
        assert decode(png("red")).width == 40


def test_a_process_has_no_secrets(monkeypatch: pytest.MonkeyPatch, png: Png) -> None:
    monkeypatch.setenv("TESSERA_ADMIN_KEY", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with Decoders(1, ALLOWANCE) as decode:
        decode(png("red"))
        (process,) = decode._alive
        environment = Path(f"/proc/{process.process.pid}/environ").read_text("utf-8")
    assert "PATH=" in environment
    assert "secret" not in environment


def test_a_process_imports_no_torch() -> None:
    imports = "import sys, app.imports.decoder_process"
    check = f"{imports}; assert not {{'torch', 'pydantic'}} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", check], check=True)  # noqa: S603 - our own command


@pytest.mark.parametrize("form", ["HEIF", "AVIF"])
def test_phones_pictures_are_read_in_a_process_with_their_metadata(
    decode: Decoders, form: str
) -> None:
    exif = write_exif("2019:08:04 15:22:10", "+01:00")
    file = decode.read(write_picture(form, draw(1), exif))
    assert file.metadata["taken"] == "2019-08-04T15:22:10+01:00"
    assert (file.copies[0].width, file.copies[0].height) == (640, 480)


def test_raw_files_and_videos_are_read_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "a.mov").write_bytes(write_video(1, 9))
    jpeg = write_picture("JPEG", draw(1))
    (tmp_path / "a.dng").write_bytes(write_dng(jpeg, ("Canon", "EOS"), "2021:06:13 10:11:12"))
    os.mkfifo(tmp_path / "pipe.mov")
    with Decoders(1, Allowance(100, 10**7, 60, 2**30, footage_bytes=10**6)) as decode:
        video, raw = decode.read(tmp_path / "a.mov"), decode.read(tmp_path / "a.dng")
        assert len(video.copies) == len(set(video.digests)) == 4
        assert video.metadata["duration"] == 9.0
        assert raw.metadata["camera"] == "Canon EOS"
        pages = [draw(number) for number in range(2)]
        (tmp_path / "a.pdf").write_bytes(write_pdf(*pages))
        assert len(decode.read(tmp_path / "a.pdf").copies) == 2
        with pytest.raises(ImageError, match="no regular file"):
            decode.read(tmp_path / "pipe.mov")
        with pytest.raises(ImageError, match="No such file"):
            decode.read(tmp_path / "none.mov")
        (tmp_path / "a.mov").write_bytes(bytes(10**6 + 1))
        with pytest.raises(ImageTooLarge, match="at most 1,000,000 bytes"):
            decode.read(tmp_path / "a.mov")


def test_a_sidecar_is_read_in_the_process(decode: Decoders) -> None:
    jpeg = write_picture("JPEG", draw(1, 60, 40))
    file = decode.read(jpeg, [Sidecar(".xmp", write_xmp(4, "Sea")), Sidecar(".json", b"[")])
    assert (file.metadata["rating"], file.metadata["title"]) == (4, "Sea")
