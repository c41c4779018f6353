"""XMP of photos and sidecars: words, stars, people, dates and places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from app.imports.file_metadata import dates
from app.imports.file_metadata.exif import name_camera
from app.imports.file_metadata.texts import (
    clean_line,
    clean_lines,
    clean_text,
    read_number,
    read_position,
    read_rating,
)

LARGEST = 2**20  # bytes; what cameras and editors write has some thousands
RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
SPACES = {
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://ns.adobe.com/xap/1.0/": "xmp",
    "http://ns.adobe.com/exif/1.0/": "exif",
    "http://cipa.jp/exif/1.0/": "exifEX",
    "http://ns.adobe.com/tiff/1.0/": "tiff",
    "http://ns.adobe.com/exif/1.0/aux/": "aux",
    "http://ns.adobe.com/photoshop/1.0/": "photoshop",
    "http://iptc.org/std/Iptc4xmpExt/2008-02-29/": "Iptc4xmpExt",
    "http://www.metadataworkinggroup.com/schemas/regions/": "mwg-rs",
    "http://ns.microsoft.com/photo/1.2/t/Region#": "MPReg",
}
DATES = ("exif:DateTimeOriginal", "photoshop:DateCreated", "xmp:CreateDate")
ANGLE = re.compile(r"(\d{1,3})(?:,(\d{1,2}(?:\.\d+)?))(?:,(\d{1,2}(?:\.\d+)?))?([NSEW])", re.ASCII)
Properties = dict[str, list[str]]


def read_xmp(data: bytes) -> dict[str, Any]:
    """Read the XMP of a photo; empty if broken or too large."""
    try:
        return parse_xmp(data)
    except ValueError:
        return {}


def parse_xmp(data: bytes) -> dict[str, Any]:
    """Read XMP; ValueError if it is broken or too large."""
    if len(data) > LARGEST:
        raise ValueError("too large")
    try:
        root = fromstring(data.strip(b"\0 \r\n\t"), forbid_dtd=True)
    except (ParseError, DefusedXmlException, LookupError, RecursionError) as broken:
        raise ValueError(str(broken)) from broken
    return _read_facts(_read_properties(root), _list_people(root))


def _read_facts(of: Properties, people: list[str]) -> dict[str, Any]:
    def first(*names: str) -> str:
        return next((of[name][0] for name in names if of.get(name)), "")

    angles = (_read_angle(first(f"exif:GPS{name}")) for name in ("Latitude", "Longitude"))
    facts: dict[str, Any] = {
        "camera": name_camera(first("tiff:Make"), first("tiff:Model")),
        "lens": clean_line(first("exifEX:LensModel", "aux:Lens")),
        "rating": read_rating(first("xmp:Rating")),
        "title": clean_line(first("dc:title", "photoshop:Headline")),
        "description": clean_text(first("dc:description")),
        "keywords": clean_lines(of.get("dc:subject", ())),
        "people": clean_lines((*people, *of.get("Iptc4xmpExt:PersonInImage", ()))),
        "city": clean_line(first("photoshop:City")),
        "region": clean_line(first("photoshop:State")),
        "country": clean_line(first("photoshop:Country")),
        **read_position(*angles),
    }
    moments = (dates.read_date(first(name)) for name in DATES)
    if taken := next((moment for moment in moments if moment), None):
        facts |= {"taken": taken, "taken_from": "xmp"}
    return {key: value for key, value in facts.items() if value not in (None, "", [])}


def _read_properties(root: Element) -> Properties:
    """Return the values of a photo's properties, without those of parts."""
    properties: Properties = {}
    photos = (photo for rdf in root.iter(f"{RDF}RDF") for photo in rdf)
    for description in photos:
        for name, value in description.attrib.items():
            properties.setdefault(_name(name), []).append(value)
        for child in description:
            properties.setdefault(_name(child.tag), []).extend(_list_values(child))
    return properties


def _list_values(element: Element) -> Iterator[str]:
    """Yield the values of a property, the default language first."""
    entries = list(element.iter(f"{RDF}li"))
    if not entries:
        yield element.text or ""
        return
    entries.sort(key=lambda entry: entry.get(LANGUAGE, "x-default") != "x-default")
    yield from (entry.text or "" for entry in entries)


def _list_people(root: Element) -> list[str]:
    """List the names of faces in regions."""
    names = []
    for element in root.iter():
        of = {_name(key): value for key, value in element.attrib.items()}
        of |= {_name(child.tag): child.text or "" for child in element}
        if of.get("mwg-rs:Type") == "Face":
            names.append(of.get("mwg-rs:Name", ""))
        names.append(of.get("MPReg:PersonDisplayName", ""))
    return names


def _name(tag: str) -> str:
    """Return a name with the usual prefix of its namespace."""
    space, _, local = tag.lstrip("{").rpartition("}")
    return f"{SPACES.get(space, space)}:{local}"


def _read_angle(text: str) -> float | None:
    """Read an angle such as 38,42.5N; south and west are below 0.

    >>> _read_angle("38,42.75N"), _read_angle("9,7,30W")
    (38.7125, -9.125)
    """
    match = ANGLE.fullmatch(text.strip())
    if match is None:
        return None
    degrees, minutes, seconds = (read_number(part or 0) or 0 for part in match.groups()[:3])
    angle = degrees + minutes / 60 + seconds / 3600
    return -angle if match[4] in "SW" else angle
