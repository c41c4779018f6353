"""Files state dates, places and words; hostile ones break nothing."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from app.imports.file_metadata.pictures import read_picture, read_tiff
from app.imports.file_metadata.reading import FileLimits, Sidecar, read_file
from app.imports.file_metadata.sidecars import read_takeout
from app.imports.file_metadata.texts import clean_line, clean_text
from app.imports.file_metadata.xmp import LARGEST, read_xmp
from benchmarks.photos.files import draw, write_exif, write_picture, write_xmp

MOST = 10**7
PIXELS = draw(1, 40, 30)
EXIF = write_exif("2019:08:04 15:22:10", "+01:00", (-33.8568, 151.2153), ("Apple", "iPhone 12"))
STATED = {
    "taken": "2019-08-04T15:22:10+01:00",
    "taken_from": "exif",
    "camera": "Apple iPhone 12",
    "latitude": -33.8568,
    "longitude": 151.2153,
    "width": 40,
    "height": 30,
    "orientation": "landscape",
}
WORDS = {"rating": 4, "title": "Märkte & Meer", "keywords": ["sea", "tram"], "people": ["Ana"]}


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "AVIF", "HEIF"])
def test_all_formats_bring_exif_and_xmp(form: str) -> None:
    xmp = write_xmp(4, "Märkte &amp; Meer", ["sea", "tram", "sea"], ["Ana"])
    assert read_picture(write_picture(form, PIXELS, EXIF, xmp), MOST) == STATED | WORDS


@pytest.mark.parametrize("form", ["JPEG", "TIFF", "WEBP"])
@pytest.mark.parametrize(("turn", "size"), [(1, (40, 30)), (3, (40, 30)), (6, (30, 40))])
def test_sizes_are_those_of_the_upright_picture(
    form: str, turn: int, size: tuple[int, int]
) -> None:
    facts = read_picture(write_picture(form, PIXELS, write_exif(Orientation=turn)), MOST)
    assert (facts["width"], facts["height"]) == size
    assert facts["orientation"] == ("portrait" if turn == 6 else "landscape")


def with_iptc(*blocks: tuple[int, bytes]) -> bytes:
    """A JPEG with blocks of IPTC's second record."""
    iptc = b"".join(
        struct.pack(">BBBH", 0x1C, 2, number, len(text)) + text for number, text in blocks
    )
    resource = b"8BIM\x04\x04\0\0" + struct.pack(">I", len(iptc)) + iptc + b"\0" * (len(iptc) % 2)
    segment = b"Photoshop 3.0\0" + resource
    jpeg = write_picture("JPEG", PIXELS)
    return jpeg[:2] + b"\xff\xed" + struct.pack(">H", len(segment) + 2) + segment + jpeg[2:]


def test_captions_of_agencies_are_read() -> None:
    blocks = (5, b"Market"), (25, b"sea"), (25, "Köln".encode()), (55, b"20190804")
    more = (60, b"152210+0100"), (90, b"Lisbon"), (101, b"Portugal"), (120, b"A tram\xe9")
    facts = read_picture(with_iptc(*blocks, *more), MOST)
    assert facts["taken"] == "2019-08-04T15:22:10+01:00"
    assert (facts["title"], facts["keywords"]) == ("Market", ["sea", "Köln"])
    assert (facts["city"], facts["country"]) == ("Lisbon", "Portugal")
    assert facts["description"] == "A tramé"


def test_what_cameras_write_into_every_photo_is_no_description() -> None:
    exif = write_exif(ImageDescription="OLYMPUS DIGITAL CAMERA")
    assert "description" not in read_picture(write_picture("JPEG", PIXELS, exif), MOST)


@pytest.mark.parametrize(
    "exif",
    [
        write_exif("0000:00:00 00:00:00"),
        write_exif("2019:08:04 15:22:10"[:-1] + "\0", place=(0.0, 0.0)),
        b"Exif\0\0II*\0\x08\0\0\0\x01\0\x69\x87\x04\0\x01\0\0\0\x08\0\0\0\0\0\0\0",  # a circle
        b"Exif\0\0MM\0*\xff\xff\xff\xff",
        b"Exif\0\0" + b"\xff" * 5000,
        b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + b"\x0f\x01\x02\0\xff\xff\xff\xff\x08\0\0\0" * 500,
    ],
    ids=["zeros", "cut", "circle", "nowhere", "noise", "huge"],
)
def test_hostile_exif_leaves_the_size(exif: bytes) -> None:
    facts = read_picture(write_picture("JPEG", PIXELS, exif), MOST)
    assert {key: facts[key] for key in ("width", "height")} == {"width": 40, "height": 30}
    assert not facts.keys() & {"taken", "latitude", "longitude"}


@given(st.binary(max_size=200), st.integers(0, 300))
def test_damaged_exif_breaks_nothing(noise: bytes, at: int) -> None:
    exif = EXIF[:at] + noise + EXIF[at + len(noise) :]
    assert read_picture(write_picture("JPEG", PIXELS, exif[:60_000]), MOST)["width"] == 40


@given(st.binary(max_size=300))
def test_noise_breaks_no_reader(noise: bytes) -> None:
    for data in (noise, b"II*\0" + noise, b"MM\0*" + noise):
        assert isinstance(read_tiff(data), dict)
    assert isinstance(read_picture(noise, MOST), dict)
    assert read_xmp(noise) == {}
    with suppress(ValueError):
        assert isinstance(read_takeout(noise), dict)


def test_control_characters_and_endless_words_are_left_out() -> None:
    xmp = write_xmp(9, "a\tb" + "c" * 5000, [str(number) for number in range(1000)])
    facts = read_xmp(xmp)
    assert facts.keys() == {"title", "keywords"}
    assert (facts["title"][:4], len(facts["title"]), len(facts["keywords"])) == ("a bc", 500, 200)


LAUGHS = (
    b"""<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x:xmpmeta xmlns:x="a">&b;</x:xmpmeta>"""
)


@pytest.mark.parametrize(
    "data",
    [LAUGHS, b"<" * 100, b" " * (LARGEST + 1), write_xmp(5)[:-5], b"<a>" * 10_000],
    ids=["entities", "no XML", "large", "cut", "deep"],
)
def test_hostile_xmp_says_nothing(data: bytes) -> None:
    assert read_xmp(data) == {}


@pytest.mark.parametrize(
    ("sidecar", "facts"),
    [
        (b"[]", {}),
        (b'{"photoTakenTime": {"timestamp": "1e400"}, "geoData": 5, "people": [1, {}]}', {}),
        (b'{"geoData": {"latitude": 91, "longitude": 0}, "description": null}', {}),
        (
            b'{"photoTakenTime": {"timestamp": "1564925530"}, "description": "Sea"}',
            {
                "taken": "2019-08-04T13:32:10+00:00",
                "taken_from": "takeout",
                "description": "Sea",
            },
        ),
    ],
)
def test_sidecars_of_takeout(sidecar: bytes, facts: dict[str, object]) -> None:
    assert read_takeout(sidecar) == facts


FAR = ["Москва", "李雷", "Łukasz", "Müller", "Ça va?", "Don’t go – at the beach 🏖️"]


@pytest.mark.parametrize("text", [*FAR, "Ä?"])
def test_characters_of_all_scripts_are_kept(text: str) -> None:
    assert clean_line(text) == clean_text(text) == text
    assert clean_line(text.encode().decode("latin-1")) == clean_line(text.encode()) == text
    assert read_xmp(write_xmp(4, text, [text], [text])) == {
        "rating": 4,
        "title": text,
        "keywords": [text],
        "people": [text],
    }
    takeout = {"description": text, "people": [{"name": text}]}
    said = {"description": text, "people": [text]}
    assert read_takeout(json.dumps(takeout).encode()) == said
    assert read_takeout(json.dumps(takeout, ensure_ascii=False).encode()) == said
    picture = write_picture("JPEG", PIXELS, EXIF, write_xmp(4, text))
    assert read_picture(picture, MOST)["title"] == text


@pytest.mark.parametrize(
    ("ending", "data"),
    [
        (".json", b""),
        (".json", b"[" * 100_000),
        (".json", b'{"title": "a.jpg", "photoTa'),
        (".json", b" " * (LARGEST + 1)),
        (".xmp", b""),
        (".xmp", write_xmp(5)[:-5]),
    ],
)
def test_a_broken_sidecar_is_noted(ending: str, data: bytes) -> None:
    picture = write_picture("JPEG", PIXELS, EXIF)
    read = read_file(picture, FileLimits(MOST, MOST), [Sidecar(ending, data)])
    assert read.metadata == STATED
    (note,) = read.photos[0].notes
    assert f"its {ending} sidecar cannot be read" in note


def test_faces_of_windows_and_positions_of_xmp_are_read() -> None:
    xmp = b"""<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
    xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description
    xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:GPSLatitude="38,42.75N"
    exif:GPSLongitude="9,7,30W" exif:DateTimeOriginal="2019-08-04T15:22:10+01:00"
    xmlns:MP="http://ns.microsoft.com/photo/1.2/"
    xmlns:R="http://ns.microsoft.com/photo/1.2/t/Region#"><MP:RegionInfo><rdf:Description>
    <rdf:Bag><rdf:li R:PersonDisplayName="Ben"/></rdf:Bag></rdf:Description></MP:RegionInfo>
    </rdf:Description></rdf:RDF></x:xmpmeta>"""
    assert read_xmp(xmp) == {
        "people": ["Ben"],
        "latitude": 38.7125,
        "longitude": -9.125,
        "taken": "2019-08-04T15:22:10+01:00",
        "taken_from": "xmp",
    }


def test_a_phones_words_in_utf_8_are_read() -> None:
    tag, text = 0x010E, "São Paulo".encode()
    exif = Image.Exif()
    exif[tag] = text.decode("latin-1")
    data = exif.tobytes()
    assert text not in data  # Pillow writes ASCII alone
    entry = struct.pack("<HHII", tag, 2, len(text) + 1, 26)
    exif_data = b"Exif\0\0II*\0\x08\0\0\0\x01\0" + entry + bytes(4) + text + b"\0"
    file = BytesIO()
    Image.fromarray(PIXELS).save(file, "JPEG", exif=exif_data)
    assert read_picture(file.getvalue(), MOST)["description"] == "São Paulo"
