"""Names of collections, and aliases, which can be moved to another collection.

Collections and aliases share one space of names, so a name means at most one collection.
Names are read in transactions, so a change of names is seen as a whole or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    Row,
    bindparam,
    delete,
    exists,
    insert,
    or_,
    select,
    update,
)

from index.catalog.revisions import GARBAGE, LIVE, add_collection
from index.database import curation, deleted_photos, series_rows, webhooks
from index.database.driver_query import DriverQuery, borrow
from index.database.moments import read_once
from index.database.tables import aliases, collections, settings
from index.items import (
    Collection,
    ModelMismatch,
    NameConflict,
    Replaced,
    check_name,
    check_new_name,
)


def plan_keeping(connection: Connection, token: str) -> None:
    """Plan to keep the collection that another will replace."""
    if not keeping_planned(connection, token):
        connection.execute(insert(settings), {"name": _setting_name(token), "value": ""})


def keeping_planned(connection: Connection, token: str) -> bool:
    """Return whether the collection that another replaces is to be kept."""
    return former_token(connection, token) is not None


def former_token(connection: Connection, token: str) -> str | None:
    """Read the token of the kept predecessor; None if not kept.

    It is empty before the replacement.
    """
    query = select(settings.c.value).where(settings.c.name == _setting_name(token))
    value: str | None = connection.execute(query).scalar_one_or_none()
    return value


def record_former(connection: Connection, token: str, former: str) -> None:
    """Note the collection that another has replaced, as planned."""
    row = settings.c.name == _setting_name(token)
    connection.execute(update(settings).where(row).values(value=former))


def release(connection: Connection, token: str) -> None:
    """Forget a collection's kept predecessor, and its being one."""
    rows = or_(settings.c.name == _setting_name(token), settings.c.value == token)
    connection.execute(delete(settings).where(rows))
    series_rows.discard(connection, token)


def _setting_name(token: str) -> str:
    return f"kept/{token}"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of a collection."""

    name: str
    collection: str


def choose_former_name(connection: Connection, name: str, fingerprint: str) -> str:
    """Choose the name under which a re-embedding keeps the replaced collection.

    Raises NameConflict if it is taken, ValueError if it is invalid.
    """
    former_name = f"{name}@{fingerprint}"
    check_name(former_name, "a collection's name")  # older names may begin with a space
    if _find(connection, former_name) is not None:
        raise NameConflict(
            f"the name {former_name!r} is taken: drop or rename what has it, and run this again"
        )
    return former_name


def check_standing(connection: Connection, name: str, collection: Collection) -> None:
    """Replaced unless a name stands for this very collection."""
    standing = _find(connection, name)
    if standing is None or standing.key != collection.key:
        raise Replaced(
            f"collection {name!r} is not the one that it was when this began: it was dropped, "
            "renamed or re-embedded, or its alias was moved; nothing more is stored"
        )


class Names:
    """The names of a catalog. Safe for many threads and processes."""

    def __init__(self, reader: Engine, writer: Engine) -> None:
        self._reader = reader
        self._writer = writer

    def find(self, name: str) -> Collection:
        """Find a collection by name or alias; LookupError lists the existing ones."""
        check_name(name)
        return read_once((self, name), lambda: self._find(name))

    def _find(self, name: str) -> Collection:
        with borrow(self._reader) as connection:
            rows = _FIND.fetch(connection, self._reader.dialect, name=name)
        if rows:
            return Collection(*rows[0])
        with self._reader.begin() as connection:
            return _require(connection, name)

    def check(self, name: str, collection: Collection) -> None:
        """Replaced unless a name stands for this very collection."""
        with self._reader.begin() as connection:
            check_standing(connection, name, collection)

    def find_former(self, collection: Collection, fingerprint: str) -> Collection | None:
        """Find a model's collection that the re-embedding into this one has kept."""
        with self._reader.begin() as connection:
            former = collections.c.token == former_token(connection, collection.token)
            named = former & collections.c.name.is_not(None)
            of_model = named & (collections.c.fingerprint == fingerprint)
            row = connection.execute(select(collections).where(of_model)).one_or_none()
        return None if row is None else _collection(row)

    def all(self) -> list[Collection]:
        """List all collections by name."""
        with self._reader.begin() as connection:
            return _list_named(connection)

    def list_followed(self) -> list[Collection]:
        """List all collections that need segments, re-embedded ones in the making too."""
        with self._reader.begin() as connection:
            rows = connection.execute(select(collections).where(LIVE))
            return [_collection(row) for row in rows]

    def garbage(self) -> bool:
        """Return whether dropped or replaced collections wait for a sweep."""
        with self._reader.begin() as connection:
            return connection.execute(select(exists().where(GARBAGE))).scalar_one()

    def aliases(self) -> list[Alias]:
        """List all aliases by name."""
        with self._reader.begin() as connection:
            return _aliases(connection)

    def make(self, name: str, *, fingerprint: str, dimension: int, score: str) -> Collection:
        """Open a collection for a model, made if new.

        ModelMismatch for another model's.
        """
        with self._writer.begin() as connection:
            if _find(connection, name) is None:
                check_new_name(name)
                new = {"fingerprint": fingerprint, "dimension": dimension, "score": score}
                add_collection(connection, name=name, **new)
            collection = _require(connection, name)
        return _check_model(collection, name, fingerprint)

    def of_model(self, name: str, fingerprint: str) -> Collection:
        """Open a collection for a model.

        LookupError if there is none, ModelMismatch as `make`.
        """
        return _check_model(self.find(name), name, fingerprint)

    def rename(self, name: str, new: str, *, alias: bool = False) -> None:
        """Rename a collection; with `alias`, the old name becomes an alias.

        Its aliases stay. Raises LookupError if it is missing, NameConflict if the new name is
        taken.
        """
        with self._writer.begin() as connection:
            home = _by_own_name(connection, name)
            if _find(connection, new) is not None:
                raise NameConflict(f"the name {new!r} is taken; choose another one")
            check_new_name(new)
            condition = collections.c.key == home.key
            connection.execute(update(collections).where(condition).values(name=new))
            deleted_photos.rename(connection, name, new)
            curation.copy(connection, name, new)
            curation.discard(connection, name)
            webhooks.rename(connection, name, new)
            if alias:
                connection.execute(insert(aliases), {"name": name, "collection": home.key})

    def drop(self, name: str) -> None:
        """Drop a collection: nothing finds it from now on.

        A sweep deletes it later.
        Raises LookupError if it is missing, NameConflict while an alias stands for it.
        """
        with self._writer.begin() as connection:
            home = _by_own_name(connection, name)
            standing = [alias.name for alias in _aliases(connection) if alias.collection == name]
            if standing:
                raise NameConflict(
                    f"collection {name!r} has the alias {', '.join(standing)}: move or delete "
                    "that first"
                )
            follower = collections.c.replaces == home.key
            connection.execute(update(collections).where(follower).values(replaces=None))
            condition = collections.c.key == home.key
            connection.execute(update(collections).where(condition).values(name=None))
            release(connection, home.token)
            deleted_photos.discard(connection, name)
            curation.discard(connection, name)
            webhooks.discard(connection, name)

    def point(self, alias: str, collection: str) -> bool:
        """Point an alias at a collection; return whether the alias is new.

        Raises LookupError if there is no such collection, NameConflict if the alias is a
        collection's own name.
        """
        with self._writer.begin() as connection:
            target = _require(connection, collection)
            former = _find(connection, alias)
            if former is not None and former.name == alias:
                raise NameConflict(
                    f"{alias!r} is a collection: rename it first, which can leave an alias behind"
                )
            if former is None:
                check_new_name(alias)
                connection.execute(insert(aliases), {"name": alias, "collection": target.key})
            else:
                condition = aliases.c.name == alias
                connection.execute(update(aliases).where(condition).values(collection=target.key))
        return former is None

    def forget(self, alias: str) -> None:
        """Delete an alias; LookupError if there is none of the name."""
        with self._writer.begin() as connection:
            if not connection.execute(delete(aliases).where(aliases.c.name == alias)).rowcount:
                names = ", ".join(row.name for row in _aliases(connection)) or "none yet"
                raise LookupError(f"no alias {alias!r:.220}; there are: {names}")


def _check_model(collection: Collection, name: str, fingerprint: str) -> Collection:
    if collection.fingerprint != fingerprint:
        raise ModelMismatch(
            f"collection {name!r} was made by model {collection.fingerprint}, and the model at "
            f"hand is {fingerprint}: `tessera index --reembed --collection {name}` re-embeds it, "
            "or choose the model that made it"
        )
    return collection


_OF_ALIAS = select(aliases.c.collection).where(aliases.c.name == bindparam("name"))
_BY_NAME = select(collections).where(
    or_(
        collections.c.name == bindparam("name"),
        collections.c.key == _OF_ALIAS.scalar_subquery(),
    )
)


_COLUMNS = [collections.c[field.name] for field in fields(Collection)]
_FIND = DriverQuery(_BY_NAME.with_only_columns(*_COLUMNS))


def _find(connection: Connection, name: str) -> Collection | None:
    check_name(name)
    row = connection.execute(_BY_NAME, {"name": name}).one_or_none()
    return None if row is None else _collection(row)


def _require(connection: Connection, name: str) -> Collection:
    collection = _find(connection, name)
    if collection is None:
        names = ", ".join(collection.name for collection in _list_named(connection)) or "none yet"
        raise LookupError(f"no collection {name!r}; there are: {names}")
    return collection


def _by_own_name(connection: Connection, name: str) -> Collection:
    """Find a collection by its own name, not by an alias."""
    collection = _require(connection, name)
    if collection.name != name:
        raise NameConflict(f"{name!r} is an alias of collection {collection.name!r}; name that one")
    return collection


def _list_named(connection: Connection) -> list[Collection]:
    named = select(collections).where(collections.c.name.is_not(None)).order_by("name")
    return [_collection(row) for row in connection.execute(named)]


def _aliases(connection: Connection) -> list[Alias]:
    pairs = select(aliases.c.name, collections.c.name).join_from(aliases, collections)
    return [Alias(*row) for row in connection.execute(pairs.order_by(aliases.c.name))]


def _collection(row: Row[Any]) -> Collection:
    return Collection(row.key, row.token, row.name, row.fingerprint, row.dimension, row.score)
