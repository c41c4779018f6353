"""Ownership: a data folder and a picture store name their catalog.

Another catalog neither writes nor deletes there: it would take for garbage what
its own rows do not name.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Literal

from sqlalchemy import URL, Connection, Engine, select

from index.catalog.owned_places import (
    NOTE,
    OwnedPlace,
    Owner,
    address_of,
    describe_owner,
    places_of,
)
from index.catalog.pictures import Pictures
from index.catalog.sweeping import find_named
from index.database.catalog_name import (
    Heritage,
    ensure_name,
    forget_heritage,
    inherit,
    read_heritage,
    read_name,
)
from index.database.errors import StoreAway
from index.database.storage import Storage
from index.database.tables import collections, items
from index.disk import hold_lock, read_note

FILE = "catalog.sqlite"  # the database in a data folder
LOCK = "follower.lock"  # of a data folder: its follower holds it
SAMPLE = 1_000  # pictures by which a store without a note is recognised
RECENT = 5.0  # seconds for which the owner of the pictures is not checked again

log = logging.getLogger(__name__)


class ForeignCatalog(ValueError):
    """A data folder or a picture store belongs to another catalog."""


@dataclass(frozen=True, slots=True)
class OwnershipClaim:
    """How a catalog is opened in places of perhaps another one.

    `mode` chooses: refuse, adopt the places, or only tell. With look, nothing is checked
    or written: another process has opened the catalog before. `origin` belongs to a restore: the
    name of the snapshot's catalog, empty if unknown.
    """

    mode: Literal["refuse", "adopt", "tell", "look"] = "refuse"
    origin: str | None = None


REFUSE, ADOPTING, TELL, LOOK = (
    OwnershipClaim(),
    OwnershipClaim("adopt"),
    OwnershipClaim("tell"),
    OwnershipClaim("look"),
)


class Ownership:
    """The places of a catalog: data folder and picture store.

    For many threads.
    `refusal` says why a place is not the catalog's, if the claim's mode is tell.
    """

    def __init__(
        self, storage: Storage, url: URL, engines: tuple[Engine, Engine], pictures: Pictures
    ) -> None:
        """`engines` are the database's reader and exclusive engines."""
        self._storage, self._pictures = storage, pictures
        self._reader, self._exclusive = engines
        self.address = address_of(url)
        self._default = self.address == _default(storage.folder)  # whether it is in the folder
        self._places = places_of(storage, pictures)
        self._pending = set[str]()  # catalogs whose places a restore inherits
        self._confirmed = float("-inf")
        self.refusal: str | None = None

    def settle(self, claim: OwnershipClaim = REFUSE) -> None:
        """Check that the places are this catalog's.

        Otherwise raises ForeignCatalog, and writes nothing.
        """
        if claim.mode == "look":
            return
        owner = Owner(ensure_name(self._reader, self._exclusive), self.address)
        passed, owners = read_heritage(self._reader), []
        for place in self._places:
            former = place.owner()
            problem = self._find_problem(place, former, owner, passed, claim)
            if problem is not None and former is None:
                # Another process of the catalog may have begun to use it meanwhile.
                former = place.owner()
                problem = self._find_problem(place, former, owner, passed, claim)
            if problem is not None and claim.mode != "tell":
                raise ForeignCatalog(problem)
            self.refusal = self.refusal or problem
            owners.append((place, former))
        if self.refusal is None and not self._pending:
            self._mark(owner, owners)
            if passed:
                forget_heritage(self._exclusive)

    def confirm(self) -> None:
        """Raise StoreAway, before a put, if another catalog has the store."""
        if monotonic() - self._confirmed < RECENT:
            return
        try:
            self.settle()
        except ForeignCatalog as foreign:
            raise StoreAway(str(foreign)) from foreign
        self._confirmed = monotonic()

    def has_pictures(self, connection: Connection) -> bool:
        """Return whether the store belongs to the catalog of a transaction."""
        return self._has(self._places[-1], connection)

    def has_folder(self, connection: Connection) -> bool:
        """Return whether a data folder is the catalog's.

        One without a note is a shard's.
        """
        place = self._places[0]
        return place.owner() is None or self._has(place, connection)

    def pass_on(self, connection: Connection) -> None:
        """Inherit, in a restore's transaction, the places of the snapshot's catalog."""
        for name in self._pending:
            inherit(connection, name, Heritage.MOVED)
        self._pending = set()

    def _has(self, place: OwnedPlace, connection: Connection) -> bool:
        owner, name = place.owner(), read_name(connection)
        if owner is not None and owner.catalog == name:
            return True
        log.warning(
            "nothing is deleted from %s, which belongs to the catalog in %s and not in %s",
            place.label,
            "no database yet" if owner is None else owner.database,
            self.address,
        )
        return False

    def _mark(self, owner: Owner, owners: Iterable[tuple[OwnedPlace, Owner | None]]) -> None:
        for place, former in owners:
            if former == owner:
                continue
            place.notes.write_note(NOTE, owner.note, new=former is None)
            # Another one may have written too, in a store without conditional puts.
            if (now := place.owner()) is None or now.catalog != owner.catalog:
                raise ForeignCatalog(self._describe(place, now or Owner("", "unknown")))

    def _find_problem(
        self,
        place: OwnedPlace,
        former: Owner | None,
        owner: Owner,
        passed: dict[str, Heritage],
        claim: OwnershipClaim,
    ) -> str | None:
        """Explain why a place cannot be the catalog's; None if it can."""
        if former is not None and former.catalog == owner.catalog:
            return None
        if claim.mode == "adopt":
            return self._explain_use() if place is self._places[0] else None
        if former is None:
            return None if self._is_free(place) else self._describe(place, None)
        if self._inherits(place, passed.get(former.catalog)) or self._is_left(place, former, owner):
            return None
        if claim.origin is not None and self._succeeds(former, claim.origin):
            self._pending.add(former.catalog)
            return None
        return self._describe(place, former, copied=former.catalog in passed)

    def _inherits(self, place: OwnedPlace, heritage: Heritage | None) -> bool:
        copied = heritage is Heritage.COPIED and place.inside and self._default
        return copied or heritage is Heritage.MOVED

    def _is_left(self, place: OwnedPlace, former: Owner, owner: Owner) -> bool:
        """Return whether another host put this catalog at the folder's address.

        Then the folder has nothing but segments of what is gone, which are built again.
        """
        if place is not self._places[0] or self._default or former.database != self.address:
            return False
        store = self._places[-1].owner()
        return store is not None and store.catalog == owner.catalog

    def _explain_use(self) -> str | None:
        """Why the data folder cannot be taken over now."""
        folder = self._storage.folder
        with hold_lock(folder / LOCK) as free:
            return None if free else f"a service uses the data folder {folder}: stop that first"

    def _succeeds(self, former: Owner, origin: str) -> bool:
        """Return whether a restore here may inherit from another catalog.

        It may if that one's database was at the same address, so it is gone; and if it is
        the SQLite file of this very folder, which moves to another database by its own snapshot.
        """
        moves = former.database == _default(self._storage.folder) and former.catalog == origin
        if not moves and former.database != self.address:
            return False
        with hold_lock(self._storage.folder / LOCK) as free:
            return free and self._is_empty()

    def _is_free(self, place: OwnedPlace) -> bool:
        """Return whether a place without a note is free or ours."""
        if place is self._places[0]:
            return self._knows_segments() and not self._lacks_file()
        names = list(islice(self._pictures.names(), SAMPLE))
        if not names:
            return True
        with self._reader.begin() as connection:
            return 2 * len(find_named(connection, names)) > len(names)

    def _knows_segments(self) -> bool:
        """Return whether the folder has no segments, or some of the catalog's."""
        tokens = {path.name for path in (self._storage.folder / "segments").glob("[0-9a-f]*")}
        if not tokens:
            return True
        with self._reader.begin() as connection:
            known = set(connection.execute(select(collections.c.token)).scalars())
        return bool(tokens & known)

    def _lacks_file(self) -> bool:
        """Return whether an empty catalog's folder has an SQLite file with items."""
        file = self._storage.folder / FILE
        return not self._default and file.is_file() and self._is_empty() and _has_items(file)

    def _is_empty(self) -> bool:
        with self._reader.begin() as connection:
            return connection.execute(select(items.c.revision).limit(1)).scalar() is None

    def _describe(self, place: OwnedPlace, owner: Owner | None, *, copied: bool = False) -> str:
        """Describe a place's owner, and what to do."""
        return describe_owner(self._storage, place, owner, self.address, copied=copied)


def refuse_new(storage: Storage, url: URL, claim: OwnershipClaim) -> None:
    """Refuse to make a SQLite file in another catalog's folder."""
    note = read_note(storage.folder / NOTE)  # first: another process may make both meanwhile
    is_new = url.get_backend_name() == "sqlite" and not Path(url.database or "").exists()
    if note is None or not is_new or claim.mode in ("adopt", "look"):
        return
    owner, address = Owner.read(note), address_of(url)
    if claim.origin is None or owner.database != address:
        place = places_of(storage, None)[0]
        raise ForeignCatalog(describe_owner(storage, place, owner, address))


def _default(folder: Path) -> str:
    return str((folder / FILE).resolve())


def _has_items(file: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute("SELECT 1 FROM items LIMIT 1").fetchone() is not None
    except sqlite3.Error:  # an unreadable file may hold items
        return True
