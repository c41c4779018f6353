"""The engine: models, catalog and indexes together; knows no HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import Concatenate, ParamSpec, TypeVar

from app import memory
from app.defaults import DEFAULT_COLLECTION
from app.engine import follower_process as follower
from app.engine.bounds import Bounds, OutOfBounds
from app.engine.curations import Curation, Curations
from app.engine.drafts import Draft, embed
from app.engine.inference import Models
from app.engine.refusals import each, write_each
from app.engine.thumbnails import Thumbnails
from app.settings import Settings
from app.telemetry.requests import note, stage
from index.catalog import reembedding
from index.catalog.catalog import Catalog
from index.catalog.ownership import ADOPTING, REFUSE
from index.database import moments
from index.disk import provide_temporary_folder
from index.documents.thesaurus import Synonyms, parse_synonyms
from index.items import Collection, Entry, Item, Picture, Replaced, check_photo
from index.search import audit
from index.search.audit import Audit
from index.search.index import Index
from index.search.indexes import Indexes
from index.search.requests import Answer, Request
from index.search.rescorer import compile_kernels
from models.scores.scoring import score_named
from models.types import FragmentBag

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def read_synonyms(file: Path) -> Synonyms:
    """Read the synonyms of all collections; ValueError names the setting."""
    try:
        return parse_synonyms(file.read_text("utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as unread:
        raise ValueError(f"TESSERA_SYNONYMS: {file} cannot be read: {unread}") from unread


class Engine:
    """Everything that is done with stored items, for many threads at once."""

    def __init__(
        self,
        models: Models,
        catalog: Catalog,
        folder: Path,
        device: str = "cpu",
        synonyms: Synonyms | None = None,
        indexes: Indexes | None = None,
    ) -> None:
        """Without `indexes`, collections are searched in this process."""
        self.models, self.catalog, self.folder = models, catalog, folder
        self.bounds = Bounds(catalog.names)
        self.thumbnails = Thumbnails()
        self.curations = Curations(catalog, synonyms)
        self.indexes = indexes or Indexes(
            catalog, folder, models.calibration, device, synonyms, follower.__name__
        )

    @classmethod
    def load(cls, settings: Settings, *, adopt: bool = False) -> Engine:
        """Load the engine that the settings describe; `adopt` takes over another catalog's data."""
        memory.hold()
        claim = ADOPTING if adopt else REFUSE
        catalog = Catalog(settings.storage, claim=claim)  # first: its mistakes come at once
        catalog.check_pictures()
        provide_temporary_folder(settings.data)
        synonyms = None
        if settings.synonyms is not None:
            synonyms = read_synonyms(settings.synonyms)
        models, indexes = Models.of(settings), None
        if settings.cluster:
            from app.engine import cluster  # needs Ray

            indexes = cluster.open_indexes(settings, catalog, models, synonyms)
        memory.give_back()  # what loading needed
        engine = cls(models, catalog, settings.data, settings.device, synonyms, indexes)
        engine.take_empty()
        return engine

    def take_empty(self) -> None:
        """Open empty collections of other models for this matcher."""
        for home in self.catalog.names.all():
            if home.fingerprint != self.models.fingerprint and not self.catalog.count(home):
                self.reembed(home.name, lambda *_: None)

    def serve(self) -> None:
        """Follow what any process writes, in the background, until `close`.

        Every collection of this matcher can be searched when this returns, with no kernel to
        compile first: that takes seconds where none is kept on disk.
        """
        compile_kernels(score_named(self.models.matcher.score))
        for collection in self.catalog.names.all():
            if collection.fingerprint == self.models.fingerprint:
                self.indexes.of(collection)
        self.indexes.follow()

    def close(self) -> None:
        """Let go of everything."""
        self.indexes.close()
        self.catalog.close()

    def limit_to(self, names: Sequence[str] | None) -> Engine:
        """The same engine, limited to these collections; None stands for all."""
        limited = copy(self)
        limited.bounds = Bounds(self.catalog.names, names)
        return limited

    def find(self, name: str) -> Collection:
        """Find a collection of any matcher; errors are those of Bounds.find."""
        note(collection=name)
        return self.bounds.find(name)

    def knows(self, name: str) -> bool:
        """Return whether a name stands for a collection; OutOfBounds if it may not be seen."""
        try:
            self.find(name)
        except OutOfBounds:
            raise
        except LookupError:
            return False
        return True

    def open(self, collection: str, *, create: bool = False, reading: bool = False) -> Collection:
        """Open a collection of this matcher's bags, and make it with `create`.

        The default collection is always there, if empty. LookupError if there is none and `create`
        is not set, ModelMismatch for another model's, OutOfBounds outside of this engine's limits.
        With `reading`, also accepts the collection that a re-embedding replaced, if it is still
        stored: what is written there is found by no one later.
        """
        try:
            home = self.find(collection)
        except OutOfBounds:
            raise
        except LookupError:
            if not create and collection != DEFAULT_COLLECTION:
                raise
        else:
            if reading and home.fingerprint != self.models.fingerprint:
                home = self.find_served(home)
            if home.fingerprint == self.models.fingerprint:
                return home
        return self.catalog.names.make(collection, **self.models.makes)

    def find_served(self, home: Collection) -> Collection:
        """Find the collection to read: the one before a re-embedding, or the named one.

        The former if this matcher embedded it, and another one the collection.
        """
        if home.fingerprint == self.models.fingerprint:
            return home
        return self.catalog.names.find_former(home, self.models.fingerprint) or home

    def index(self, collection: str) -> Index:
        """Open the index of a collection."""
        return self.indexes.of(self.open(collection, reading=True))

    def curate(self, home: Collection) -> Curation:
        """Let searches of a collection use its newest words; returns its curation."""
        curation = self.curations.of(home)
        self.indexes.of(home).documents.use(curation.synonyms, curation.language)
        return curation

    def read(
        self,
        collection: str,
        use: Callable[Concatenate[Collection, Arguments], Result],
        *args: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Result:
        """Call a function with a collection, to read it, and with further arguments.

        If the name moves to another collection meanwhile, calls it again with that one. So a name
        that moves is there for everyone at every moment.
        """
        try:
            return use(self.open(collection, reading=True), *args, **options)
        except Replaced:
            moments.forget()
            return use(self.open(collection, reading=True), *args, **options)

    def write(
        self, collection: str, use: Callable[[Collection], Result], *, create: bool = False
    ) -> Result:
        """Call a function that writes into a collection; again if its name moves, like `read`."""
        try:
            return use(self.open(collection, create=create))
        except Replaced:
            return use(self.open(collection, create=create))

    def search(self, collection: str, request: Request) -> tuple[Answer, dict[str, Item]]:
        """Search for the best hits; also their items that are still there, by id.

        There are none for a query without parts, which asks for nothing. Errors are those of
        index.search.index.Index.best.
        """
        return self.read(collection, self._search, request)

    def _search(self, home: Collection, request: Request) -> tuple[Answer, dict[str, Item]]:
        if not request.query.parts:
            return Answer((), exact=True, candidates=0, rows=0), {}
        index = self.indexes.of(home)
        with stage("search"):
            answer = index.best(request)
        damaged = set(answer.damaged)
        items = self.catalog.get_many(home, [hit.item for hit in answer.hits], damaged)
        return replace(answer, damaged=tuple(sorted(damaged))), items

    def audit(self, collection: str, requests: Sequence[Request] | None = None) -> Audit:
        """Measure the recall of requests, or of the newest ones whose answers left rows out."""
        index = self.index(collection)
        return audit.audit(index, index.recent() if requests is None else requests)

    def item_bag(self, collection: str, item: str, photo: int = 0) -> FragmentBag:
        """Read the bag of one of an item's photos; LookupError where there is none."""
        return self.read(collection, self.catalog.bag, item, photo)

    def item_photo(self, collection: str, item: str, photo: int = 0) -> tuple[FragmentBag, Picture]:
        """Read the bag and the picture of one of an item's photos; LookupError without one."""
        entry = self.read(collection, self.catalog.entry, item)
        check_photo(item, photo, len(entry.pictures))
        return entry.images[photo], entry.pictures[photo]

    def embed(self, drafts: Sequence[Draft]) -> list[Entry]:
        """Embed drafts as entries of the catalog; ValueError if one cannot be embedded."""
        return list(embed(self.models.matcher, drafts))

    def _store(
        self, home: Collection, entries: Sequence[Entry], name: str | None = None
    ) -> list[int]:
        with stage("store"):
            return self.catalog.put_many(home, entries, name)

    def embed_each(self, drafts: Sequence[Draft]) -> list[Entry | str]:
        """Embed drafts one by one where need be; gives entries, or what is wrong."""
        return each(self.embed, drafts, Exception)

    def store_each(
        self, collection: str, home: Collection, entries: Sequence[Entry]
    ) -> list[int | str]:
        """Store items of an import that began with `home` under a name.

        Gives its revision once it is on disk, or what is wrong. A full disk or a busy database is
        wrong with each, and so is a name that no longer stands for `home`: what was dropped while
        an import runs is not made again, and what took its name does not get the other half.
        """
        return write_each(lambda part: self._store(home, part, collection), entries)

    def put_each(
        self, collection: str, home: Collection, drafts: Sequence[Draft]
    ) -> list[str | None]:
        """Embed items and store them like `store_each`; None for success, or what is wrong."""
        embedded = self.embed_each(drafts)
        entries = [entry for entry in embedded if isinstance(entry, Entry)]
        stored = iter(self.store_each(collection, home, entries))
        outcomes = [next(stored) if isinstance(entry, Entry) else entry for entry in embedded]
        return [outcome if isinstance(outcome, str) else None for outcome in outcomes]

    def reembed(
        self,
        collection: str,
        progress: Callable[[int, int], None],
        *,
        keep: bool = False,
        share: float = 1.0,
    ) -> None:
        """Give a collection of another model this matcher's bags, from its display copies.

        `share` is how much of the time it computes; it rests in between. With `keep`, engines of
        the other model go on searching what it replaces, until this collection is dropped or
        replaced in turn.
        """

        def again(entries: Sequence[Entry]) -> Sequence[Entry]:
            began = monotonic()
            embedded = self.embed([Draft.of(entry) for entry in entries])
            sleep((monotonic() - began) * (1 / share - 1))
            return embedded

        reembedding.reembed(
            self.catalog,
            collection,
            embed=again,
            progress=progress,
            keep=keep,
            **self.models.makes,
        )
