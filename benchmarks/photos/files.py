"""Writers of photo files of all formats, with generated pictures."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from fractions import Fraction
from io import BytesIO
from typing import Any

import av
import numpy as np
import pillow_heif
from numpy.typing import NDArray
from PIL import ExifTags, Image, PngImagePlugin, TiffImagePlugin

Pixels = NDArray[np.uint8]
XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/"
 xmp:Rating="{rating}"><dc:title><rdf:Alt><rdf:li xml:lang="x-default">{title}</rdf:li></rdf:Alt>
 </dc:title><dc:subject><rdf:Bag>{keywords}</rdf:Bag></dc:subject>
 <mwg-rs:Regions rdf:parseType="Resource"><mwg-rs:RegionList><rdf:Bag>{people}</rdf:Bag>
 </mwg-rs:RegionList></mwg-rs:Regions></rdf:Description></rdf:RDF></x:xmpmeta>"""
FACE = """<rdf:li><rdf:Description mwg-rs:Name="{}" mwg-rs:Type="Face"/></rdf:li>"""


def draw(seed: int, width: int = 640, height: int = 480) -> Pixels:
    """Draw a picture (height, width, 3) of coloured fields."""
    random = np.random.default_rng(seed)
    fields = random.integers(0, 256, (6, 8, 3), np.uint8)
    return np.array(Image.fromarray(fields).resize((width, height), Image.Resampling.BILINEAR))


def write_xmp(rating: int = 0, title: str = "", keywords: Any = (), people: Any = ()) -> bytes:
    """Write XMP with stars, a title, keywords and names of faces."""
    words = "".join(f"<rdf:li>{word}</rdf:li>" for word in keywords)
    faces = "".join(FACE.format(name) for name in people)
    return XMP.format(rating=rating, title=title, keywords=words, people=faces).encode()


def write_exif(
    taken: str = "",
    offset: str = "",
    place: tuple[float, float] | None = None,
    camera: tuple[str, str] = ("", ""),
    **tags: Any,
) -> bytes:
    """Write EXIF with a time, an offset, a position, a camera."""
    exif = Image.Exif()
    if camera[0]:
        exif[ExifTags.Base.Make], exif[ExifTags.Base.Model] = camera
    for name, value in tags.items():
        exif[getattr(ExifTags.Base, name)] = value
    photo = exif.get_ifd(ExifTags.IFD.Exif)
    if taken:
        photo[ExifTags.Base.DateTimeOriginal] = taken
    if offset:
        photo[ExifTags.Base.OffsetTimeOriginal] = offset
    if place:
        exif.get_ifd(ExifTags.IFD.GPSInfo).update(_write_place(*place))
    return exif.tobytes()


def write_picture(form: str, pixels: Pixels, exif: bytes = b"", xmp: bytes = b"") -> bytes:
    """Write a picture in a format of Pillow or as HEIF."""
    if form == "HEIF":
        pillow_heif.register_heif_opener()
    file, image = BytesIO(), Image.fromarray(pixels)
    options: dict[str, Any] = {"exif": exif} if exif else {}
    if xmp and form == "PNG":
        texts = PngImagePlugin.PngInfo()
        texts.add_itxt("XML:com.adobe.xmp", xmp.decode())
        options["pnginfo"] = texts
    elif xmp:
        options["xmp"] = xmp
    image.save(file, form, **options)
    return file.getvalue()


def write_video(
    seed: int,
    seconds: int = 3,
    form: str = "mov",
    tags: Mapping[str, str] | None = None,
    size: tuple[int, int] = (320, 240),
) -> bytes:
    """Write a video of a picture a second, each a key frame."""
    file = BytesIO()
    options = {"movflags": "use_metadata_tags"} if form in ("mov", "mp4") else {}
    with av.open(file, "w", format=form, options=options) as container:
        container.metadata.update(tags or {})
        stream = container.add_stream("mpeg4", rate=5)
        stream.width, stream.height = size
        stream.pix_fmt, stream.gop_size = "yuv420p", 5
        for number in range(seconds * 5):
            pixels = draw(seed + number // 5, *size)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 5)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file.getvalue()


def write_animation(seed: int, form: str = "GIF") -> bytes:
    """Write an animation of three pictures."""
    frames = [Image.fromarray(draw(seed + number, 160, 120)) for number in range(3)]
    file = BytesIO()
    frames[0].save(file, form, save_all=True, append_images=frames[1:], duration=500)
    return file.getvalue()


def write_motion_photo(jpeg: bytes, seed: int) -> bytes:
    """Write a JPEG with a video behind its end, as phones do."""
    return jpeg + write_video(seed, 1, "mp4")


def write_dng(preview: bytes, camera: tuple[str, str], taken: str, orientation: int = 1) -> bytes:
    """Write a DNG 1.4 of 16-bit values, with a JPEG preview.

    The first directory has the preview, and its subdirectory the values.
    """
    side = 64
    values = np.arange(side * side, dtype="<u2").tobytes()
    with Image.open(BytesIO(preview)) as shown:
        width, height = shown.size
    preview_tags = [
        *((254, 4, 1), (256, 4, width), (257, 4, height), (258, 3, (8, 8, 8)), (259, 3, 7)),
        *((262, 3, 6), (271, 2, camera[0]), (272, 2, camera[1]), (273, 4, "preview")),
        *((274, 3, orientation), (277, 3, 3), (278, 4, height), (279, 4, len(preview))),
        *((306, 2, taken), (330, 4, "values"), (50706, 1, (1, 4, 0, 0)), (50707, 1, (1, 1, 0, 0))),
        *((50708, 2, " ".join(camera)), (50721, 10, (1, 0, 0, 0, 1, 0, 0, 0, 1))),
        (50778, 3, 21),
    ]
    value_tags = [
        *((254, 4, 0), (256, 4, side), (257, 4, side), (258, 3, 16), (259, 3, 1), (262, 3, 32803)),
        *((273, 4, "strip"), (277, 3, 1), (278, 4, side), (279, 4, len(values))),
        *((33421, 3, (2, 2)), (33422, 1, (0, 1, 1, 2)), (50717, 4, 4095)),
    ]
    return _write_tiff(preview_tags, value_tags, preview, values)


def write_tiff_with_exif(pixels: Pixels, taken: str) -> bytes:
    """Write a TIFF with a date, as scanners do."""
    file, tags = BytesIO(), TiffImagePlugin.ImageFileDirectory_v2()
    tags[306] = taken
    Image.fromarray(pixels).save(file, "TIFF", tiffinfo=tags)
    return file.getvalue()


def _write_place(latitude: float, longitude: float) -> dict[int, Any]:
    def angle(degrees: float) -> tuple[Fraction, ...]:
        whole = Fraction(abs(degrees)).limit_denominator(10**6)
        minutes = (whole % 1) * 60
        return Fraction(int(whole)), Fraction(int(minutes)), (minutes % 1) * 60

    def rational(value: Fraction) -> TiffImagePlugin.IFDRational:
        near = value.limit_denominator(10**5)
        return TiffImagePlugin.IFDRational(near.numerator, near.denominator)

    return {
        1: "S" if latitude < 0 else "N",
        2: tuple(map(rational, angle(latitude))),
        3: "W" if longitude < 0 else "E",
        4: tuple(map(rational, angle(longitude))),
    }


def _write_tiff(first: list[Any], second: list[Any], preview: bytes, values: bytes) -> bytes:
    """Write two directories and their data, little-endian."""
    start = 8
    places = {"values": start + _size(first)}
    places["preview"] = places["values"] + _size(second)
    places["strip"] = places["preview"] + len(preview)
    head = struct.pack("<2sHI", b"II", 42, start)
    tables = _write_directory(first, start, places)
    return head + tables + _write_directory(second, places["values"], places) + preview + values


def _size(tags: list[Any]) -> int:
    return 6 + 12 * len(tags) + sum(len(data) for tag in tags if len(data := _pack(tag, {})) > 4)


def _write_directory(tags: list[Any], at: int, places: Mapping[str, int]) -> bytes:
    end = at + 6 + 12 * len(tags)
    entries, extra = [], b""
    for tag in tags:
        data, (number, kind, _) = _pack(tag, places), tag
        count = len(data) // {1: 1, 2: 1, 3: 2, 4: 4, 10: 8}[kind]
        value = data.ljust(4, b"\0") if len(data) <= 4 else struct.pack("<I", end + len(extra))
        extra += data if len(data) > 4 else b""
        entries.append(struct.pack("<HHI", number, kind, count) + value)
    return struct.pack("<H", len(tags)) + b"".join(entries) + struct.pack("<I", 0) + extra


def _pack(tag: Any, places: Mapping[str, int]) -> bytes:
    _, kind, value = tag
    if kind == 2:
        data: bytes = value.encode() + b"\0"
        return data
    if isinstance(value, str):
        value = places.get(value, 0)
    numbers = value if isinstance(value, tuple) else (value,)
    if kind == 10:  # fractions with a sign
        return b"".join(struct.pack("<ii", number, 1) for number in numbers)
    return struct.pack(f"<{len(numbers)}{ {1: 'B', 3: 'H', 4: 'I'}[kind] }", *numbers)


def write_pdf(*pages: NDArray[np.uint8], title: str = "") -> bytes:
    """Write a PDF of pictures, a page each."""
    file = BytesIO()
    first, *others = map(Image.fromarray, pages)
    first.save(file, "PDF", save_all=True, append_images=others, title=title)
    return file.getvalue()
