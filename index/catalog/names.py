"""Names of collections, and aliases: other names that can be moved to another collection at once.

Collections and aliases share one space of names, so each name means one collection at most.
Whoever uses a name reads it in a transaction, so a change of names is seen as a whole or not yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, exists, insert, or_, select, update

from index.catalog.revisions import add_collection
from index.database.tables import aliases, collections, settings
from index.items import (
    Collection,
    ModelMismatch,
    NameConflict,
    Replaced,
    check_id,
    check_new_id,
)


def plan_keeping(connection: Connection, token: str) -> None:
    """Say that what a collection will replace is to be kept."""
    if not keeping_planned(connection, token):
        connection.execute(insert(settings), {"name": _name(token), "value": ""})


def keeping_planned(connection: Connection, token: str) -> bool:
    """Whether what a collection replaces is to be kept."""
    return former_token(connection, token) is not None


def former_token(connection: Connection, token: str) -> str | None:
    """The token of what a collection replaced: empty before it has, None if it is not kept."""
    query = select(settings.c.value).where(settings.c.name == _name(token))
    value: str | None = connection.execute(query).scalar_one_or_none()
    return value


def record_former(connection: Connection, token: str, former: str) -> None:
    """Say what a collection has replaced, as it was planned."""
    row = settings.c.name == _name(token)
    connection.execute(update(settings).where(row).values(value=former))


def release(connection: Connection, token: str) -> None:
    """Forget what was kept for a collection, and for which one it was kept."""
    rows = or_(settings.c.name == _name(token), settings.c.value == token)
    connection.execute(delete(settings).where(rows))


def _name(token: str) -> str:
    return f"kept/{token}"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of a collection."""

    name: str
    collection: str


def choose_former_name(connection: Connection, name: str, fingerprint: str) -> str:
    """The name under which a re-embedding keeps a model's collection that has a name now.

    NameConflict if that is taken, ValueError if it cannot be one.
    """
    kept_name = f"{name}@{fingerprint}"
    check_new_id(kept_name)
    if _find(connection, kept_name) is not None:
        raise NameConflict(
            f"the name {kept_name!r} is taken: drop or rename what has it, and run this again"
        )
    return kept_name


def check_standing(connection: Connection, name: str, collection: Collection) -> None:
    """Replaced unless a name stands for this very collection."""
    standing = _find(connection, name)
    if standing is None or standing.key != collection.key:
        raise Replaced(
            f"collection {name!r} is not the one that it was when this began: it was dropped, "
            "renamed or re-embedded, or its alias was moved; nothing more is stored"
        )


class Names:
    """The names of a catalog. For many threads and processes."""

    def __init__(self, reader: Engine, writer: Engine) -> None:
        self._reader = reader
        self._writer = writer

    def find(self, name: str) -> Collection:
        """The collection that a name or an alias stands for; LookupError names what there is."""
        with self._reader.begin() as connection:
            return _require(connection, name)

    def check(self, name: str, collection: Collection) -> None:
        """Replaced unless a name stands for this very collection."""
        with self._reader.begin() as connection:
            check_standing(connection, name, collection)

    def find_former(self, collection: Collection, fingerprint: str) -> Collection | None:
        """What a model embedded, and the re-embedding that made this very collection has kept."""
        with self._reader.begin() as connection:
            former = collections.c.token == former_token(connection, collection.token)
            named = former & collections.c.name.is_not(None)
            of_model = named & (collections.c.fingerprint == fingerprint)
            row = connection.execute(select(collections).where(of_model)).one_or_none()
        return None if row is None else _collection(row)

    def all(self) -> list[Collection]:
        """All collections by their own names."""
        with self._reader.begin() as connection:
            return _list_named(connection)

    def list_followed(self) -> list[Collection]:
        """All collections that searches need segments of: those that are being re-embedded too."""
        condition = collections.c.name.is_not(None) | collections.c.replaces.is_not(None)
        with self._reader.begin() as connection:
            return [
                _collection(row) for row in connection.execute(select(collections).where(condition))
            ]

    def garbage(self) -> bool:
        """Whether there are collections that were dropped or replaced, and are not swept yet."""
        nameless = collections.c.name.is_(None) & collections.c.replaces.is_(None)
        with self._reader.begin() as connection:
            return connection.execute(select(exists().where(nameless))).scalar_one()

    def aliases(self) -> list[Alias]:
        """All aliases by name."""
        with self._reader.begin() as connection:
            return _aliases(connection)

    def make(self, name: str, *, fingerprint: str, dimension: int, score: str) -> Collection:
        """Open a collection for a model, made if new; ModelMismatch if another model's bags."""
        with self._writer.begin() as connection:
            if _find(connection, name) is None:
                check_new_id(name)
                new = {"fingerprint": fingerprint, "dimension": dimension, "score": score}
                add_collection(connection, name=name, **new)
            collection = _require(connection, name)
        return _check_model(collection, name, fingerprint)

    def of_model(self, name: str, fingerprint: str) -> Collection:
        """Open a collection for a model; LookupError if there is none, ModelMismatch as `make`."""
        return _check_model(self.find(name), name, fingerprint)

    def rename(self, name: str, new: str, *, alias: bool = False) -> None:
        """Give a collection another name, and with `alias` leave the old one as an alias.

        Its aliases stay. LookupError if it is not there, NameConflict if the new name is taken.
        """
        with self._writer.begin() as connection:
            home = _by_own_name(connection, name)
            if _find(connection, new) is not None:
                raise NameConflict(f"the name {new!r} is taken; choose another one")
            check_new_id(new)
            condition = collections.c.key == home.key
            connection.execute(update(collections).where(condition).values(name=new))
            if alias:
                connection.execute(insert(aliases), {"name": name, "collection": home.key})

    def drop(self, name: str) -> None:
        """Make a collection garbage: from now on nothing finds it, and a sweep deletes it later.

        LookupError if it is not there, NameConflict while an alias stands for it.
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

    def point(self, alias: str, collection: str) -> bool:
        """Have an alias stand for a collection from now on; says whether the alias is new.

        LookupError if there is no such collection, NameConflict if the alias is a collection's
        own name.
        """
        with self._writer.begin() as connection:
            target = _require(connection, collection)
            former = _find(connection, alias)
            if former is not None and former.name == alias:
                raise NameConflict(
                    f"{alias!r} is a collection: rename it first, which can leave an alias behind"
                )
            if former is None:
                check_new_id(alias)
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
            f"hand is {fingerprint}: `tessera index --reembed` re-embeds the collection, or "
            "choose the model that made it"
        )
    return collection


def _find(connection: Connection, name: str) -> Collection | None:
    check_id(name, "collection: its name")
    key = select(aliases.c.collection).where(aliases.c.name == name).scalar_subquery()
    either = or_(collections.c.name == name, collections.c.key == key)
    row = connection.execute(select(collections).where(either)).one_or_none()
    return None if row is None else _collection(row)


def _require(connection: Connection, name: str) -> Collection:
    collection = _find(connection, name)
    if collection is None:
        names = ", ".join(collection.name for collection in _list_named(connection)) or "none yet"
        raise LookupError(f"no collection {name!r}; there are: {names}")
    return collection


def _by_own_name(connection: Connection, name: str) -> Collection:
    """The collection whose own name it is."""
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
