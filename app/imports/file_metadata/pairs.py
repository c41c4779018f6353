"""Files of one photo: raw and JPEG, Live Photos, and sidecars."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from models.vision.formats.kinds import RAW_ENDINGS, VIDEO_ENDINGS

LIVE_ENDINGS = {".mov", ".mp4"}
LONGEST_LIVE = 20 * 2**20  # bytes of a Live Photo's video of 3 seconds; longer ones are videos
CUT = 46  # characters of a name, to which Google Takeout cuts it before .json
XMP, JSON = ".xmp", ".json"
TAKEOUT = "supplemental-metadata"
NUMBERED = re.compile(r"(.*)(\(\d+\))(\.[^.]*)?", re.DOTALL)  # a(1).jpg, described by a.jpg(1)
# The marks of edited photos in an export, in the languages of its owner.
EDITED = re.compile(
    r"-(?:edited|bearbeitet|modifi(?:é|e\u0301)|(?:ha )?editado|editada|editat|modificato|bewerkt"
    r"|edytowane|redigerad|編集済み)(?=(?:\(\d+\))?(?:\.[^.]*)?$)"
)


@dataclass(slots=True)
class PhotoFiles:
    """A file of an item, and those belonging to it, by name.

    `spares` show the same photo; `sidecars` say something of it.
    """

    main: str
    spares: list[str] = field(default_factory=list)
    sidecars: list[str] = field(default_factory=list)

    @property
    def others(self) -> list[str]:
        """All names except the main one."""
        return [*self.spares, *self.sidecars]


@dataclass(frozen=True, slots=True)
class FileSize:
    """A file's name and its size in bytes."""

    name: str
    size: int


def group(photos: Sequence[FileSize], others: Sequence[str]) -> tuple[list[PhotoFiles], list[str]]:
    """Group the photos of a folder with their files; also return others.

    A raw file or a short video belongs to the picture with its name, an .xmp file to all files with
    its name, and a .json file to the one that Google Takeout made it for, and its edited copy.

    >>> files = [FileSize(name, 1) for name in ("A.JPG", "A.MOV", "A.NEF", "b.mov")]
    >>> [(each.main, each.others) for each in group(files, ["A.xmp", "c.xmp"])[0]]
    [('A.JPG', ['A.MOV', 'A.NEF', 'A.xmp']), ('b.mov', [])]
    """
    pictures: dict[str, PhotoFiles] = {}
    groups, spares = list[PhotoFiles](), list[FileSize]()
    for file in photos:
        if _may_belong(file):
            spares.append(file)
        else:
            groups.append(PhotoFiles(file.name))
            pictures.setdefault(_stem(file.name), groups[-1])
    for file in spares:
        main = pictures.get(_stem(file.name))
        if main is None:
            groups.append(PhotoFiles(file.name))
        else:
            main.spares.append(file.name)
    index = _index(groups)
    alone = [name for name in others if not _join(name, index)]
    return sorted(groups, key=lambda each: each.main), alone


def _may_belong(file: FileSize) -> bool:
    """Return whether a file belongs to a picture with its name."""
    ending = PurePath(file.name).suffix.lower()
    return ending in RAW_ENDINGS or (ending in LIVE_ENDINGS and file.size <= LONGEST_LIVE)


def _index(groups: Sequence[PhotoFiles]) -> dict[str, list[PhotoFiles]]:
    """Return the photos by the names of sidecars without endings."""
    index: dict[str, list[PhotoFiles]] = {}
    named = {_stem(photo.main): _list_names(photo) for photo in groups}
    for photo in groups:
        names = _list_names(photo)
        originals = {EDITED.sub("", name) for name in names} - names
        originals |= {each for name in originals for each in named.get(_stem(name), ())}
        described = {key for name in names | originals for key in _list_takeout_names(name)}
        xmp = {f"{key}{XMP}" for name in names for key in (name, _stem(name))}
        for key in described | xmp:
            index.setdefault(key, []).append(photo)
    return index


def _list_names(photo: PhotoFiles) -> set[str]:
    return {name.lower() for name in (photo.main, *photo.spares)}


def _list_takeout_names(name: str) -> set[str]:
    """List a photo's names in sidecars: cut, its number last.

    >>> sorted(_list_takeout_names("a(1).jpg"))
    ['a(1).jpg', 'a.jpg(1)']
    """
    titles = [(name, "")]
    if match := NUMBERED.fullmatch(name):
        titles.append((f"{match[1]}{match[3] or ''}", match[2]))
    return {
        f"{title[:length]}{number}"
        for title, number in titles
        for length in (len(title), CUT, CUT - 1)
    }


def _join(sidecar: str, index: Mapping[str, list[PhotoFiles]]) -> bool:
    """Add a sidecar to its photos; return whether there are any."""
    path = PurePath(sidecar.lower())
    photos = index.get(path.name if path.suffix == XMP else _read_takeout_name(path.stem), ())
    for photo in photos:
        photo.sidecars.append(sidecar)
    return bool(photos)


def _read_takeout_name(stem: str) -> str:
    """Return a photo's name in its .json file, its number last.

    >>> _read_takeout_name("a.jpg.supplemental-met"), _read_takeout_name("a.jpg.suppl(1)")
    ('a.jpg', 'a.jpg(1)')
    """
    match = NUMBERED.fullmatch(stem)
    number = match[2] if match and match[3] is None else ""
    stem = stem.removesuffix(number)
    name, _, end = stem.rpartition(".")
    return f"{name if name and TAKEOUT.startswith(end) else stem}{number}"


def _stem(name: str) -> str:
    return PurePath(name).stem.lower()


def is_sidecar(name: str) -> bool:
    """Return whether a file may be a photo's sidecar, by its ending."""
    return PurePath(name).suffix.lower() in (XMP, JSON)


def is_footage(name: PurePath) -> bool:
    """Return whether a file's ending is of raw files or videos."""
    return name.suffix.lower() in RAW_ENDINGS | VIDEO_ENDINGS
