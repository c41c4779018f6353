"""The reader of documents: a collection's, read in the background and followed by its changes."""

from __future__ import annotations

import logging
from threading import Condition, Event, Lock, Thread

from index.catalog.catalog import Catalog
from index.catalog.views import CatalogView
from index.database import curation
from index.database.outages import Outages
from index.documents.documents import Documents
from index.documents.languages.snowball import language_of
from index.documents.languages.word_language import WordLanguage
from index.documents.thesaurus import Synonyms
from index.items import Collection, ModelMismatch

STEP = 256  # items that are taken in at a time, while searches wait
POLL = 0.1  # seconds
PATIENCE = 2.0  # seconds that a search waits for what is newer; then it says what is missing
BRIEF = 0.5  # seconds that the very first search waits for words and dates of items

log = logging.getLogger(__name__)


class DocumentReader:
    """The documents of one collection, for many threads.

    Until `start`, every `current` takes in all that the catalog has. From then on the first one
    starts a thread that does: so nothing is read of collections that no one asks for.
    """

    def __init__(
        self,
        catalog: Catalog,
        collection: Collection,
        synonyms: Synonyms | None = None,
    ) -> None:
        self._catalog, self._collection, self._synonyms = catalog, collection, synonyms
        self._language = _read_language(catalog, collection)
        self._documents = Documents(synonyms, self._language)
        self._advancing, self._moved = Lock(), Condition()
        self._background, self._stopped = False, Event()
        self._complete = False  # whether all has been read once
        self._thread: Thread | None = None

    def start(self) -> None:
        """Follow the catalog in the background, once documents are asked for."""
        self._background = True

    def use(self, synonyms: Synonyms, language: WordLanguage) -> None:
        """Use these synonyms and this language from now on.

        With another language, all documents are read once more. Until then searches wait for
        PATIENCE, and use the documents as they were read before.
        """
        self._language = language
        if synonyms is not self._synonyms:
            self._synonyms = synonyms
            self._documents.use(synonyms)

    def close(self) -> None:
        """Stop following."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def current(self, *, partial: bool = False) -> Documents:
        """The documents, to be read under their lock; ModelMismatch once they are another's.

        With `partial`, does not wait for the first reading of all, beyond a moment as it begins:
        `behind` says what is missing.
        """
        if not self._background:
            while self.advance():
                pass
            return self._documents
        needed = self._catalog.read_acknowledged(self._collection)
        with self._moved:
            first = self._thread is None
            if first:
                needed = self._catalog.revision(self._collection)
                self._thread = Thread(target=self._follow, name="document-reader", daemon=True)
                self._thread.start()
            patience = PATIENCE if self._complete or not partial else BRIEF if first else 0.0
            self._moved.wait_for(lambda: self._has(needed), patience)
        return self._documents

    def advance(self) -> bool:
        """Read some newer items from the catalog; False if there are no more."""
        with self._advancing, self._catalog.reading(self._collection) as view:
            documents = self._documents
            other = documents.language is not self._language
            if other or documents.wasteful or not _same_history(documents, view):
                documents = self._read(view)
            elif not self._take(documents, view):
                self._complete = True
                return False
            with self._moved:
                self._documents = documents
                self._moved.notify_all()
        return True

    def _has(self, revision: int) -> bool:
        """Return whether documents up to a revision are read in the language."""
        documents = self._documents
        return documents.revision >= revision and documents.language is self._language

    def _read(self, view: CatalogView) -> Documents:
        """All documents as of a view."""
        fresh = Documents(self._synonyms, self._language)
        fresh.newest, fresh.mark = view.revision, view.mark(view.revision)
        while not self._stopped.is_set() and self._take(fresh, view):
            pass
        return fresh

    def _take(self, documents: Documents, view: CatalogView) -> bool:
        """Add some newer items, and retire those that are gone; False if there are none."""
        if documents.revision == view.revision:
            return False
        read = view.items(documents.revision, STEP)
        with documents.lock:
            if documents.newest < view.floor:
                documents.keep(view.revisions())
            else:
                documents.retire(view.list_retired(documents.newest))
            documents.add(read.rows)
            documents.damaged |= read.damaged
            documents.revision = read.reached
            documents.newest, documents.mark = view.revision, view.mark(view.revision)
        return True

    def _follow(self) -> None:
        outages = Outages(log, f"reading the words of {self._collection.name!r}")
        while not self._stopped.is_set():
            wait = 1.0
            try:
                with outages.survive():
                    wait = 0.0 if self.advance() else POLL
            except ModelMismatch:
                return  # searches say so themselves
            self._stopped.wait(wait)


def _read_language(catalog: Catalog, collection: Collection) -> WordLanguage:
    return language_of(curation.read(catalog.reader, collection, "language"))


def _same_history(documents: Documents, view: CatalogView) -> bool:
    """Return whether documents are of a view's history; marks may be forgotten."""
    forgotten = documents.newest < view.floor
    return not documents.newest or forgotten or view.mark(documents.newest) == documents.mark
