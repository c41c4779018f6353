"""Places of a catalog, with notes of their owner."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from sqlalchemy import URL

from index.catalog.pictures import Pictures
from index.database.storage import Storage
from index.disk import read_note, write_note

NOTE = "owner.json"
ADOPT = (
    "give --adopt-pictures, which `tessera serve`, `restore` and `sweep` take, once, while no "
    "other service uses it"
)


@dataclass(frozen=True, slots=True)
class Owner:
    """A catalog's name, and the address of its database."""

    catalog: str
    database: str

    @classmethod
    def read(cls, note: bytes) -> Owner:
        """Read an owner from a note.

        A damaged note gives one that matches no catalog.
        """
        try:
            fields = json.loads(note)
            return cls(str(fields["catalog"]), str(fields["database"]))
        except (ValueError, LookupError, TypeError):
            return cls("", f"unknown: its {NOTE} is damaged")

    @property
    def note(self) -> bytes:
        """The note in the owner's places."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()


class Notes(Protocol):
    """A place with notes: a picture store, or a data folder."""

    def read_note(self, name: str) -> bytes | None:
        """See Pictures."""
        ...

    def write_note(self, name: str, content: bytes, *, new: bool = False) -> bool:
        """See Pictures."""
        ...


@dataclass(frozen=True, slots=True)
class FolderNotes:
    """Notes in a data folder."""

    folder: Path

    def read_note(self, name: str) -> bytes | None:
        """See Pictures."""
        return read_note(self.folder / name)

    def write_note(self, name: str, content: bytes, *, new: bool = False) -> bool:
        """See Pictures."""
        return write_note(self.folder / name, content, new=new)


@dataclass(frozen=True, slots=True)
class OwnedPlace:
    """A place of a catalog.

    One `inside` is copied along with its data folder.
    """

    label: str
    notes: Notes
    inside: bool

    def owner(self) -> Owner | None:
        """Read the owner; None without a note."""
        note = self.notes.read_note(NOTE)
        return None if note is None else Owner.read(note)


def describe_owner(
    storage: Storage, place: OwnedPlace, owner: Owner | None, address: str, *, copied: bool = False
) -> str:
    """Describe a place's owner, and what to do about it."""
    if owner is None:
        facts = f"{place.label} has data that the catalog in {address} does not know"
    elif owner.database == address:
        facts = f"{place.label} belongs to a catalog that is no longer in {address}"
        return f"{facts}: restore a snapshot, or else {ADOPT}"
    else:
        facts = (
            f"{place.label} belongs to the catalog in {owner.database}, not to that in {address}"
        )
    if copied:
        hint = "name others by TESSERA_DATA and TESSERA_PICTURES; if it was moved"
        return f"{facts}, which is a copy of it: {hint}, {ADOPT}"
    return f"{facts}: {_find_hint(storage, place, owner)}; if this is meant, {ADOPT}"


def _find_hint(storage: Storage, place: OwnedPlace, owner: Owner | None) -> str:
    """Name the setting that is probably wrong."""
    on_server = owner is None or owner.database.startswith("postgres")
    if on_server and not storage.database:
        hint = "TESSERA_DATABASE is probably missing"
    else:
        hint = "TESSERA_DATABASE or TESSERA_DATA is probably wrong"
    return hint if place.inside else f"{hint}, or TESSERA_PICTURES has to name another store"


def places_of(storage: Storage, pictures: Pictures | None) -> list[OwnedPlace]:
    """List the data folder, and the picture store if there is one."""
    folder = storage.folder.resolve()
    places = [OwnedPlace(f"the data folder {storage.folder}", FolderNotes(storage.folder), True)]
    if pictures is not None:
        place = storage.pictures or str(storage.folder / "pictures")
        inside = "://" not in place and Path(place).resolve().is_relative_to(folder)
        places.append(OwnedPlace(f"the picture store {place}", pictures, inside))
    return places


def address_of(url: URL) -> str:
    """Write a database's address without secrets.

    It is a file's absolute path, or a server's URL.
    """
    if url.get_backend_name() == "sqlite":
        return str(Path(url.database or "").resolve())
    place = {name: value for name, value in url.query.items() if name in ("host", "port")}
    bare = URL.create("postgresql", url.username, None, url.host, url.port, url.database, place)
    return bare.render_as_string()
