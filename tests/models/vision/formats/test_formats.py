"""Raw files and videos give photos within limits, broken ones reasons."""

from __future__ import annotations

import struct
from contextlib import suppress
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.photos.files import draw, write_animation, write_dng, write_picture, write_video
from models.vision.formats.animations import read_animation
from models.vision.formats.kinds import demuxer_of, kind_of
from models.vision.formats.raw_previews import NO_PREVIEW, read_raw
from models.vision.formats.video_frames import read_video
from models.vision.photo_decoding import ImageError, ImageTooLarge, decode

MOST = 10**7
JPEG = write_picture("JPEG", draw(1, 600, 400))
TAKEN = "2021:06:13 10:11:12"
CAMERA = ("Canon", "Canon EOS R5")
UPRIGHT = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
TURNED = struct.pack(">9i", 0, 1 << 16, 0, -1 << 16, 0, 0, 0, 0, 1 << 30)  # a quarter right


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (JPEG[:64], "picture"),
        (b"\0\0\0\x18ftypheic", "picture"),
        (b"\0\0\0\x18ftypavif", "picture"),
        (b"\0\0\0\x14ftypqt  ", "video"),
        (b"\0\0\0\x18ftypcrx ", "raw"),
        (b"II*\0\x10\0\0\0CR\x02\0", "raw"),
        (b"FUJIFILMCCD-RAW 0201", "raw"),
        (b"RIFF\0\0\0\0AVI LIST", "video"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "picture"),
        (b"\x1a\x45\xdf\xa3", "video"),
        ((b"G" + bytes(187)) * 4, "video"),
        (write_picture("TIFF", draw(1, 9, 9)), "picture"),
        (write_dng(JPEG, CAMERA, TAKEN)[:2000], "raw"),
        (b"#EXTM3U\nfile:///etc/passwd", "picture"),
        (b"ffconcat version 1.0\nfile /etc/passwd", "picture"),
        (b"", "picture"),
    ],
)
def test_kinds_are_known_by_the_first_bytes(head: bytes, kind: str) -> None:
    assert kind_of(head) == kind


def test_a_raw_file_that_begins_as_any_tiff_is_known_by_its_ending() -> None:
    tiff = write_picture("TIFF", draw(1, 9, 9))
    assert [kind_of(tiff, ending) for ending in ("", ".tif", ".3fr")] == [*["picture"] * 2, "raw"]
    assert kind_of(JPEG, ".dng") == "picture"


def test_a_raw_file_shows_its_preview() -> None:
    raw = read_raw(BytesIO(write_dng(JPEG, CAMERA, TAKEN)), MOST, 1280)
    assert np.array_equal(raw.photo.pixels, decode(JPEG).pixels)
    assert raw.photo.pixels.shape == decode(raw.preview).pixels.shape
    assert (raw.width, raw.height) == (64, 64)


def test_a_preview_is_turned_as_the_raw_file_says() -> None:
    raw = read_raw(BytesIO(write_dng(JPEG, CAMERA, TAKEN, orientation=6)), MOST, 1280)
    assert np.array_equal(raw.photo.pixels, np.rot90(decode(JPEG).pixels, 3))


def test_a_raw_file_without_a_preview_of_use_is_developed() -> None:
    small = write_picture("JPEG", draw(1, 60, 40))
    raw = read_raw(BytesIO(write_dng(small, CAMERA, TAKEN)), MOST, 1280)
    assert (raw.photo.pixels.shape, raw.photo.notes) == ((32, 32, 3), (NO_PREVIEW,))


def test_a_raw_file_beyond_the_limits_or_broken_is_refused() -> None:
    data = write_dng(JPEG, CAMERA, TAKEN)
    with pytest.raises(ImageTooLarge, match="64 × 64 pixels; at most 100 are read"):
        read_raw(BytesIO(data), 100, 1280)
    with pytest.raises(ImageError, match="the raw file is broken or of an unknown camera"):
        read_raw(BytesIO(b"II*\0" + bytes(500)), MOST, 1280)


@pytest.mark.parametrize("form", ["mov", "mp4", "matroska", "avi", "mpegts"])
def test_a_video_gives_key_frames_with_their_seconds(form: str) -> None:
    data = write_video(1, 9, form)
    assert demuxer_of(data) == ("mov" if form == "mp4" else form)
    video = read_video(BytesIO(data), MOST, 1280)
    assert len(video.frames) == (3 if form == "mpegts" else 4)  # which is cut into packets
    assert [frame.second for frame in video.frames] == sorted({f.second for f in video.frames})
    assert (video.width, video.height, round(video.duration)) == (320, 240, 9)
    for frame in video.frames:
        near = frame.photo.pixels.astype(int) - draw(1 + round(frame.second), 320, 240)
        assert np.abs(near).mean() < 8


def test_a_long_video_gives_no_more_frames_than_wanted() -> None:
    video = read_video(BytesIO(write_video(1, 30)), MOST, 100, most=5)
    assert len(video.frames) == 5
    assert video.frames[0].photo.pixels.shape == (75, 100, 3)


def test_a_turned_video_is_upright() -> None:
    data = write_video(1, 1)
    assert data.count(UPRIGHT) == 2  # of the file, and of its track
    start = data.rindex(UPRIGHT)
    turned = data[:start] + TURNED + data[start + len(TURNED) :]
    plain, video = (read_video(BytesIO(each), MOST, 1280) for each in (data, turned))
    assert (video.width, video.height) == (240, 320)
    expected = np.rot90(plain.frames[0].photo.pixels, 3)
    assert np.array_equal(video.frames[0].photo.pixels, expected)


def test_a_video_beyond_the_limits_or_broken_is_refused() -> None:
    data = write_video(1, 2)
    with pytest.raises(ImageTooLarge, match="320 × 240 pixels; at most 100 are read"):
        read_video(BytesIO(data), 100, 1280)
    for broken in (data[:200], b"\0\0\0\x14ftypqt  " + bytes(100)):
        with pytest.raises(ImageError):
            read_video(BytesIO(broken), MOST, 1280)


@given(st.integers(0, 6000), st.binary(min_size=1, max_size=40))
def test_damaged_videos_are_read_or_refused(at: int, noise: bytes) -> None:
    data = write_video(1, 2, "mp4")
    at = min(at, len(data) - 1)
    with suppress(ImageError):
        read_video(BytesIO(data[:at] + noise + data[at + len(noise) :]), MOST, 100)


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG", "AVIF"])
def test_an_animation_gives_frames_with_their_seconds(form: str) -> None:
    frames, duration = read_animation(write_animation(1, form), MOST, 80)
    assert [frame.second for frame in frames] == [0.0, 0.5, 1.0]
    assert duration == 1.5
    for number, frame in enumerate(frames):
        assert frame.photo.pixels.shape == (60, 80, 3)
        near = frame.photo.pixels.astype(int) - draw(1 + number, 80, 60)
        assert np.abs(near).mean() < 16


def test_what_does_not_move_or_moves_too_long_gives_no_frames(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    animation = write_animation(1)
    for data in (JPEG, b"", write_picture("PNG", draw(1, 9, 9)), animation[: len(animation) // 2]):
        assert read_animation(data, MOST, 80) == ([], 0.0)
    monkeypatch.setattr("models.vision.formats.animations.MOST_PIXELS", 3 * 160 * 120 - 1)
    assert read_animation(animation, MOST, 80) == ([], 0.0)
