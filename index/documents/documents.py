"""Documents: items' metadata and sentences in memory, to search and count."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np

from index.catalog.facets import facets_of
from index.catalog.views import ItemRow
from index.conditions import Condition, Either, Every, Not, Scalar
from index.database.series_rows import is_name
from index.documents.bm25 import Alternative, Lexical
from index.documents.columns import Codes, Column, Mask
from index.documents.identifiers import is_barcode, names_by_number
from index.documents.languages.english import ENGLISH
from index.documents.languages.word_language import WordLanguage
from index.documents.query_words import Wording
from index.documents.thesaurus import Synonyms, Thesaurus
from index.segments.rows import Numbers

FEW = 512  # documents that are read again whenever one of them is gone
WASTE = 8  # one in so many may be gone before all are read again


@dataclass(frozen=True, slots=True)
class Schema:
    """The keys and fields of a collection's items.

    keys: those with values that filters compare. numeric: those of them with numbers. fields: those
    with words, the id and sentences. uncompared: what an item has under a key that a filter finds
    nothing under in it: an object, a long text.
    """

    keys: frozenset[str]
    numeric: frozenset[str]
    fields: frozenset[str]
    uncompared: Mapping[str, Any]


class Documents:
    """The items of a collection up to a revision, in the order of their revisions.

    Hold `lock` while reading. `newest` is the revision of the catalog that retirements are known
    to, `mark` that of its history (see CatalogView.mark). `damaged` are items of the catalog that
    are no documents, as they are not as they were stored: ids by revision.
    """

    def __init__(self, synonyms: Synonyms | None = None, language: WordLanguage = ENGLISH) -> None:
        self.language = language
        self.lock = RLock()
        self.ids: list[str] = []
        self.damaged: dict[int, str] = {}
        self.columns: dict[str, Column] = {}
        self.lexical = Lexical(language)
        self._synonyms = synonyms
        self._wording: Wording | None = None
        self.revision, self.newest = 0, 0
        self._uncompared: dict[str, Any] = {}
        self.mark: str | None = None
        self._revisions, self._gone = array("q"), array("b")
        self._places = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def revisions(self) -> Numbers:
        """The revision of each document (N,), in order."""
        return np.array(self._revisions, np.int64)

    @property
    def live(self) -> Mask:
        """The mask (N,) of documents that are still there."""
        live: Mask = np.array(self._gone) == 0
        return live

    @property
    def stamp(self) -> tuple[int, int]:
        """What changes with the documents."""
        return self.revision, self.newest

    @property
    def behind(self) -> int:
        """The number of known changes of the catalog that are not in here yet."""
        return self.newest - self.revision

    @property
    def wasteful(self) -> bool:
        """Whether so many documents are gone that all should be read again."""
        gone = sum(self._gone)
        return gone > 0 and (len(self) <= FEW or gone * WASTE > len(self))

    def use(self, synonyms: Synonyms) -> None:
        """Look words up by these synonyms from now on."""
        with self.lock:
            self._synonyms, self._wording = synonyms, None

    def wording(self) -> Wording:
        """The reader of queries, with all words up to now.

        Takes the lock; its methods do so for moments.
        """
        with self.lock:
            if self._wording is None:
                thesaurus = Thesaurus(self.lexical.vocabulary, self, self._synonyms)
                self._wording = Wording(thesaurus)
            return self._wording

    def has_phrase(self, term: str, *, in_codes: bool = False) -> bool:
        """Return whether any document has spaced stems in a row, perhaps in a field of codes."""
        with self.lock:
            return self.lexical.count(Alternative(term, in_codes=in_codes)) > 0

    def list_codes(self, code: str) -> list[str]:
        """List the terms of codes that are written so without signs."""
        with self.lock:
            return self.lexical.list_codes(code)

    def spelling(self, folded: str) -> str:
        """The most frequent spelling of a joined word."""
        with self.lock:
            return self.lexical.vocabulary.spelling(folded)

    def add(self, rows: Iterable[ItemRow]) -> None:
        """Add items, later ones than before."""
        self._wording = None
        for row in rows:
            number = self.lexical.add(texts_of(row))
            self.ids.append(row.id)
            self._revisions.append(row.revision)
            self._gone.append(0)
            values: dict[str, list[str]] = {}
            for key, value in sorted(facets_of(row.metadata)):
                values.setdefault(key, []).append(value)
            for key in row.metadata.keys() - values.keys() - self._uncompared.keys():
                self._uncompared[key] = row.metadata[key]
            for key, texts in values.items():
                self.columns.setdefault(key, Column()).add(number, texts)

    def retire(self, revisions: Numbers) -> None:
        """Forget items by their revisions."""
        for revision in self.damaged.keys() & revisions.tolist() if self.damaged else ():
            del self.damaged[revision]
        places = np.searchsorted(self.revisions, revisions)
        for place, revision in zip(places.tolist(), revisions.tolist(), strict=True):
            if place < len(self) and self._revisions[place] == revision:
                self._gone[place] = 1

    def keep(self, revisions: Numbers) -> None:
        """Forget all items but those with some revisions."""
        all_revisions = np.concatenate((self.revisions, np.array(list(self.damaged), np.int64)))
        self.retire(np.setdiff1d(all_revisions, revisions, assume_unique=True))

    def schema(self) -> Schema:
        """The keys and fields of the items."""
        numeric = (key for key, column in self.columns.items() if column.numeric)
        return Schema(
            frozenset(self.columns),
            frozenset(numeric),
            frozenset(self.lexical.mean_lengths()),
            dict(self._uncompared),
        )

    def values(self, key: str, most: int) -> list[Scalar]:
        """List the different values of live documents under a key, up to so many."""
        if key not in self.columns:
            return []
        column = self.columns[key]
        codes = np.flatnonzero(column.counts(self.live))[:most]
        return [column.values[code] for code in codes.tolist()]

    def list_years(self, key: str) -> range:
        """The years from the first to the last of live documents' dates under a key."""
        if key not in self.columns:
            return range(0)
        periods = self.columns[key].count_periods(self.live, "year")
        years = [int(period.value) for period in periods.counts] if periods else []
        return range(years[0], years[-1] + 1) if years else range(0)

    def passing(self, condition: Condition) -> Mask:
        """Mark the documents (N,) for which a condition holds, live or not."""
        match condition:
            case Every(parts):
                every = np.ones(len(self), np.bool_)
                for part in parts:
                    every &= self.passing(part)
                return every
            case Either(parts):
                either = np.zeros(len(self), np.bool_)
                for part in parts:
                    either |= self.passing(part)
                return either
            case Not(part):
                return ~self.passing(part)
            case _:
                having = np.zeros(len(self), np.bool_)
                if condition.key in self.columns:
                    having[self.columns[condition.key].having(condition)] = True
                return having

    def places(self) -> Codes:
        """The place of each document (N,) by its id."""
        if len(self._places) != len(self):
            self._places = np.empty(len(self), np.int64)
            self._places[sorted(range(len(self)), key=self.ids.__getitem__)] = np.arange(len(self))
        return self._places


def texts_of(row: ItemRow) -> dict[str, str]:
    """The texts of an item by field: metadata, id, and sentences without the title."""
    texts = {
        key: _text(key, value) for key, value in row.metadata.items() if not is_name(key, value)
    }
    titles = {texts.get("title"), texts.get("name")}
    sentences = " ".join(sentence for sentence in row.sentences if sentence not in titles)
    texts = {"id": row.id, "sentences": sentences} | texts
    return {field: text for field, text in texts.items() if text}


def _text(key: str, value: Any) -> str:
    """The text of a value: texts, and numbers of identifiers."""
    parts = value if isinstance(value, list | tuple) else (value,)
    named = isinstance(value, list | tuple | int) and names_by_number(key)
    return " ".join(str(part) for part in parts if isinstance(part, str) or _is_name(part, named))


def _is_name(value: Any, named: bool) -> bool:
    """Return whether a value is a number of an identifier."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number and (named or is_barcode(str(value)))


FIELDS: Mapping[str, float] = {"title": 2.0, "name": 2.0, "description": 0.5}  # others weigh 1
LONGEST_NAME = 10.0  # words that a field has on average which names something, and is no prose


def naming_fields(documents: Documents) -> list[str]:
    """List the fields that name things; all fields in a collection of prose alone.

    No names are: a description, sentences, long texts, addresses, and a value that all items share.
    """
    lengths = documents.lexical.mean_lengths()
    naming = [
        field
        for field, length in lengths.items()
        if FIELDS.get(field, 1.0) > 1.0
        or (
            field != "sentences"
            and FIELDS.get(field, 1.0) == 1.0
            and length <= LONGEST_NAME
            and _tells_apart(documents, field)
        )
    ]
    return naming or list(lengths)


def _tells_apart(documents: Documents, field: str) -> bool:
    """Return whether a field has several values, and no addresses; ids are in no column."""
    column = documents.columns.get(field)
    if column is None or len(documents) == 1:
        return True
    return len(column.values) > 1 and "://" not in str(column.values[0])


def is_named(documents: Documents, words: Iterable[str]) -> bool:
    """Return whether an item has all of some words in a field that names it."""
    language = documents.language
    terms = [Alternative(language.stem(language.fold(word))) for word in words]
    with documents.lock:
        for field in naming_fields(documents):
            having = documents.live
            for term in terms:
                having &= documents.lexical.having_any([term], [field])
            if having.any():
                return True
    return False
