"""The engine: models, catalog and indexes together; knows no HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from app.drafts import Draft, embed
from app.indexes import Indexes
from app.inference import Models
from app.settings import DEFAULT_COLLECTION, Settings
from index import audit, reembedding
from index.audit import Audit
from index.catalog import Catalog
from index.failures import Busy
from index.items import Collection, Entry, NoSpace, Picture
from index.requests import Answer, Request
from index.search import Index
from models import parsing
from models.types import FragmentBag

Turn = AbstractContextManager[object]  # that may be entered again
NO_TURN: Turn = nullcontext()


class Engine:
    """Everything that is done with stored items, for many threads at once."""

    def __init__(self, models: Models, catalog: Catalog, folder: Path, device: str = "cpu") -> None:
        self.models, self.catalog = models, catalog
        self.indexes = Indexes(catalog, folder, models.calibration, device)

    @classmethod
    def load(cls, settings: Settings) -> Engine:
        """The engine that the settings describe."""
        if settings.parser:
            parsing.choose(settings.parser)
        device = settings.device
        catalog = Catalog(settings.storage)  # first: what is wrong with it is told at once
        models = Models.load(settings.matcher, settings.captioner, settings.grounder, device)
        return cls(models, catalog, settings.data, device)

    def serve(self) -> None:
        """Follow what any process writes, in the background, until `close`.

        Every collection of this matcher can be searched when this returns.
        """
        for collection in self.catalog.collections():
            if collection.fingerprint == self.models.fingerprint:
                self.indexes.of(collection)
        self.indexes.follow()

    def close(self) -> None:
        """Let go of everything."""
        self.indexes.close()
        self.catalog.close()

    def open(self, collection: str, *, create: bool = False) -> Collection:
        """A collection of this matcher's bags; LookupError if there is none, and none is made.

        The default collection is always there, if empty. ModelMismatch for another model's.
        """
        try:
            home = self.catalog.find(collection)
        except LookupError:
            if not create and collection != DEFAULT_COLLECTION:
                raise
        else:
            if home.fingerprint == self.models.fingerprint:
                return home
        return self.catalog.collection(collection, **self.models.makes)

    def index(self, collection: str) -> Index:
        """What a collection is searched with."""
        return self.indexes.of(self.open(collection))

    def search(self, collection: str, request: Request) -> Answer:
        """The best hits for a request; errors are those of index.search.Index.best.

        None for a query without parts: nobody knows what it asks for.
        """
        if not request.query.parts:
            return Answer((), exact=True, candidates=0, rows=0)
        return self.index(collection).best(request)

    def audit(self, collection: str, requests: Sequence[Request] | None = None) -> Audit:
        """The recall of requests, or of the newest ones whose answers left rows out."""
        index = self.index(collection)
        return audit.audit(index, index.recent() if requests is None else requests)

    def item_photo(self, collection: str, item: str) -> tuple[FragmentBag, Picture]:
        """A stored photo's bag and picture; LookupError where there is none."""
        entry = self.catalog.entry(self.open(collection), item)
        if entry.image is None or entry.picture is None:
            raise LookupError(f"item {item!r} has sentences but no picture")
        return entry.image, entry.picture

    def put(self, collection: str, drafts: Sequence[Draft], turn: Turn = NO_TURN) -> None:
        """Embed and store items together, all or none: on disk when this returns.

        Makes the collection if it is new. Embeds within `turn`, which is over before the database
        is waited for. Raises ValueError for what cannot be embedded.
        """
        home = self.open(collection, create=True)
        with turn:
            entries = self.embed(drafts)
        self.catalog.put_many(home, entries)

    def embed(self, drafts: Sequence[Draft]) -> list[Entry]:
        """Drafts with their bags, to be put into the catalog."""
        return list(embed(self.models.matcher, drafts))

    def put_each(
        self, collection: str, drafts: Sequence[Draft], turn: Turn = NO_TURN
    ) -> list[str | None]:
        """Store items, each on its own merits: None for one that is on disk, or what is wrong."""
        if not drafts:
            return []
        self.open(collection, create=True)  # what is wrong with the collection is no item's fault
        try:
            self.put(collection, drafts, turn)
        except (Busy, NoSpace) as failed:  # which no item is to blame for
            return [str(failed)] * len(drafts)
        except ValueError as refused:
            if len(drafts) == 1:
                return [str(refused)]
            return [why for draft in drafts for why in self.put_each(collection, [draft], turn)]
        return [None] * len(drafts)

    def reembed(self, collection: str, progress: Callable[[int, int], None]) -> None:
        """Give a collection of another model this matcher's bags, from its display copies."""

        def again(entries: Sequence[Entry]) -> Sequence[Entry]:
            return self.embed([Draft.of(entry) for entry in entries])

        reembedding.reembed(
            self.catalog, collection, embed=again, progress=progress, **self.models.makes
        )
