"""Makes a folder of photos as phones and cameras leave it.

    python -m benchmarks.photos.folder /tmp/photos --count 300

Next to the folder, in /tmp/photos.json, stands what is true of each file: whether it is an item of
its own ("item"), belongs to one ("joined"), is of a kind that is not read ("unread"), or is broken
("refused"); and the metadata of an item. All pictures are generated.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from benchmarks.photos.files import (
    draw,
    write_animation,
    write_dng,
    write_exif,
    write_motion_photo,
    write_picture,
    write_tiff_with_exif,
    write_video,
    write_xmp,
)

Fate = Literal["item", "joined", "unread", "refused"]
PHONE, CAMERA = ("Apple", "iPhone 12"), ("Canon", "Canon EOS 80D")
PLACES = {  # where photos are taken, and the offset from UTC there in summer
    "Lisbon": (38.7125, -9.1393, "Portugal", "+01:00"),
    "Berlin": (52.5200, 13.4050, "Germany", "+02:00"),
    "Tokyo": (35.6595, 139.7005, "Japan", "+09:00"),
    "Sydney": (-33.8568, 151.2153, "Australia", "+10:00"),
    "New York City": (40.7128, -74.0060, "United States", "-04:00"),
}
CHANGED = 1_600_000_000  # the files' time of change: 2020-09-13


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file of the folder, its fate and metadata."""

    file: str
    content: bytes
    fate: Fate = "item"
    metadata: dict[str, Any] = field(default_factory=dict)


def make_files(count: int) -> Iterator[MadeFile]:
    """Make about `count` files: days of photos, and oddities."""
    made = 0
    for number in range(count):
        for file in (*Day(number).make(), *(_make_oddities() if number == 0 else ())):
            made += 1
            yield file
        if made >= count:
            return


def write_folder(folder: Path, count: int) -> list[MadeFile]:
    """Write a folder, and its manifest next to it."""
    files = list(make_files(count))
    for made in files:
        path = folder / made.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made.content)
        os.utime(path, (CHANGED, CHANGED))
    manifest = [{"file": made.file, "fate": made.fate, "metadata": made.metadata} for made in files]
    folder.with_name(f"{folder.name}.json").write_text(json.dumps(manifest, indent=1), "utf-8")
    return files


@dataclass(frozen=True, slots=True)
class Day:
    """A day of one kind of photos, in one of the places."""

    number: int

    def make(self) -> Iterator[MadeFile]:
        """Make the files of one kind, in turn."""
        kinds = (
            *(self._live, self._pair, self._raw, self._video, self._burst),
            *(self._message, self._motion, self._takeout, self._worded, self._scan),
        )
        return kinds[self.number % len(kinds)]()

    @property
    def _when(self) -> datetime:
        return datetime(2012, 6, 1, 9) + timedelta(days=11 * self.number, minutes=7 * self.number)

    @property
    def _city(self) -> str:
        return list(PLACES)[self.number % len(PLACES)]

    @property
    def _album(self) -> str:
        return f"{self._when:%Y} {self._city}"

    @property
    def _name(self) -> str:
        return f"IMG_{2000 + self.number}"

    @property
    def _place(self) -> dict[str, Any]:
        latitude, longitude, country, _ = PLACES[self._city]
        return {
            "latitude": latitude,
            "longitude": longitude,
            "city": self._city,
            "country": country,
        }

    @property
    def _by_phone(self) -> dict[str, Any]:
        taken = self._when.isoformat() + PLACES[self._city][3]
        return {"taken": taken, "taken_from": "exif", "camera": " ".join(PHONE), **self._place}

    @property
    def _by_camera(self) -> dict[str, Any]:
        return {"taken": self._when.isoformat(), "taken_from": "exif", "camera": CAMERA[1]}

    def _phone_jpeg(self, shot: int = 0) -> bytes:
        return write_picture("JPEG", draw(self.number + 1000 * shot), self._phone_exif())

    def _phone_exif(self) -> bytes:
        latitude, longitude, _, offset = PLACES[self._city]
        return write_exif(f"{self._when:%Y:%m:%d %H:%M:%S}", offset, (latitude, longitude), PHONE)

    def _camera_jpeg(self) -> bytes:
        exif = write_exif(f"{self._when:%Y:%m:%d %H:%M:%S}", "", None, CAMERA)
        return write_picture("JPEG", draw(self.number), exif)

    def _raw_file(self) -> bytes:
        return write_dng(self._camera_jpeg(), CAMERA, f"{self._when:%Y:%m:%d %H:%M:%S}")

    def _clip(self, seconds: int) -> bytes:
        latitude, longitude, _, offset = PLACES[self._city]
        tags = {
            "com.apple.quicktime.creationdate": self._when.isoformat() + offset,
            "com.apple.quicktime.make": PHONE[0],
            "com.apple.quicktime.model": PHONE[1],
            "com.apple.quicktime.location.ISO6709": f"{latitude:+08.4f}{longitude:+09.4f}/",
        }
        return write_video(self.number, seconds, "mov", tags)

    def _live(self) -> Iterator[MadeFile]:
        heic = write_picture("HEIF", draw(self.number), self._phone_exif())
        yield MadeFile(f"{self._album}/{self._name}.HEIC", heic, "item", self._by_phone)
        yield MadeFile(f"{self._album}/{self._name}.MOV", self._clip(1), "joined")

    def _pair(self) -> Iterator[MadeFile]:
        words: dict[str, Any] = {"rating": 4, "title": "Market", "keywords": ["market", self._city]}
        sidecar = write_xmp(4, "Market", ["market", self._city])
        jpeg = self._camera_jpeg()
        yield MadeFile(f"camera/{self._name}.JPG", jpeg, "item", self._by_camera | words)
        yield MadeFile(f"camera/{self._name}.DNG", self._raw_file(), "joined")
        yield MadeFile(f"camera/{self._name}.xmp", sidecar, "joined")

    def _raw(self) -> Iterator[MadeFile]:
        yield MadeFile(f"camera/{self._name}.dng", self._raw_file(), "item", self._by_camera)

    def _video(self) -> Iterator[MadeFile]:
        by_video = self._by_phone | {"taken_from": "video", "duration": 4.0}
        yield MadeFile(f"{self._album}/{self._name}.mov", self._clip(4), "item", by_video)

    def _burst(self) -> Iterator[MadeFile]:
        for shot in range(4):
            name = f"{self._album}/{self._name}_BURST{shot:03}.jpg"
            yield MadeFile(name, self._phone_jpeg(shot), "item", self._by_phone)

    def _message(self) -> Iterator[MadeFile]:
        jpeg = write_picture("JPEG", draw(self.number))
        named = {"taken": f"{self._when:%Y-%m-%d}", "taken_from": "name"}
        name = f"WhatsApp/IMG-{self._when:%Y%m%d}-WA{self.number:04}.jpg"
        yield MadeFile(name, jpeg, "item", named)

    def _motion(self) -> Iterator[MadeFile]:
        motion = write_motion_photo(self._phone_jpeg(), self.number)
        yield MadeFile(f"{self._album}/MV{self._name}.jpg", motion, "item", self._by_phone)

    def _takeout(self) -> Iterator[MadeFile]:
        seconds = int((self._when - datetime(1970, 1, 1)).total_seconds())
        position = {key: self._place[key] for key in ("latitude", "longitude")}
        sidecar = {
            "photoTakenTime": {"timestamp": str(seconds)},
            "geoData": position,
            "description": "By the sea",
            "people": [{"name": "Ana"}],
        }
        said = {"taken": f"{self._when.isoformat()}+00:00", "taken_from": "takeout"}
        words = {"description": "By the sea", "people": ["Ana"]}
        jpeg = write_picture("JPEG", draw(self.number))
        yield MadeFile(f"Takeout/{self._name}.jpg", jpeg, "item", said | self._place | words)
        yield MadeFile(f"Takeout/{self._name}.jpg.json", json.dumps(sidecar).encode(), "joined")

    def _worded(self) -> Iterator[MadeFile]:
        form = ("WEBP", "PNG", "AVIF")[self.number // 10 % 3]
        xmp = write_xmp(5, "Birthday", ["cake"], ["Ben"])
        said: dict[str, Any] = {
            "rating": 5,
            "title": "Birthday",
            "keywords": ["cake"],
            "people": ["Ben"],
        }
        picture = write_picture(form, draw(self.number), self._phone_exif(), xmp)
        name = f"{self._album}/{self._name}.{form.lower()}"
        yield MadeFile(name, picture, "item", self._by_phone | said)

    def _scan(self) -> Iterator[MadeFile]:
        picture = write_picture("PNG", draw(self.number))
        yield MadeFile(f"scans/{self.number}.png", picture, "item", {"taken_from": "file"})


def _make_oddities() -> Iterator[MadeFile]:
    """Make files with odd names and contents, and broken ones."""
    jpeg = write_picture("JPEG", draw(1))
    yield MadeFile("odd/Grüße aus Köln 🎂.jpg", jpeg)
    yield MadeFile("odd/no ending", jpeg)
    yield MadeFile("odd/really a jpeg.png", jpeg)
    yield MadeFile("odd/" + "long " * 40 + ".jpg", jpeg)
    moving = {"duration": 1.5, "seconds": [0.0, 0.5, 1.0]}
    for form in ("GIF", "WEBP", "PNG"):
        animation = write_animation(1, form)
        yield MadeFile(f"odd/animated.{form.lower()}", animation, "item", moving)
    yield MadeFile("odd/old video.avi", write_video(1, 3, "avi"))
    yield MadeFile("odd/video.mkv", write_video(2, 3, "matroska"))
    scanned = {"taken": "1999-12-24T18:00:00", "taken_from": "exif"}
    scan = write_tiff_with_exif(draw(2), "1999:12:24 18:00:00")
    yield MadeFile("odd/scan.tif", scan, "item", scanned)
    upright = write_picture("JPEG", draw(3), write_exif("0000:00:00 00:00:00", Orientation=6))
    turned = {"orientation": "portrait", "width": 480, "height": 640, "taken_from": "file"}
    yield MadeFile("odd/turned.jpg", upright, "item", turned)
    future = write_picture("JPEG", draw(4), write_exif("2999:01:01 00:00:00"))
    yield MadeFile("odd/future.jpg", future, "item", {"taken_from": "file"})
    heic = write_picture("HEIF", draw(5))
    yield MadeFile("odd/cut.jpg", jpeg[: len(jpeg) // 2], "refused")
    yield MadeFile("odd/cut too.heic", heic[: len(heic) // 2], "refused")
    yield MadeFile("odd/cut video.mp4", write_video(3, 2, "mp4")[:500], "refused")
    yield MadeFile("odd/broken.dng", b"II*\0" + bytes(100), "refused")
    yield MadeFile("odd/empty.jpg", b"", "refused")
    yield MadeFile("odd/text.jpg", b"no photo", "refused")
    yield MadeFile("odd/sound only.mp4", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom", "refused")
    for name in ("notes.txt", "picture.jxl", "drawing.psd", "IMG_1.AAE", "other.json", "alone.xmp"):
        yield MadeFile(f"odd/{name}", b"{}", "unread")
    yield MadeFile("odd/.hidden.jpg", jpeg, "unread")


def main() -> None:
    """Write a folder, and print its counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=300)
    chosen = parser.parse_args()
    files = write_folder(chosen.folder, chosen.count)
    fates = {fate: sum(made.fate == fate for made in files) for fate in get_args(Fate)}
    print(f"{len(files)} files: {fates}")


if __name__ == "__main__":
    main()
