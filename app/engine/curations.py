"""Curation of collections as searches use it: synonyms, pins, a language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from cachetools import LRUCache

from index.catalog.catalog import Catalog
from index.database import curation
from index.documents.languages.english import ENGLISH
from index.documents.languages.snowball import language_of
from index.documents.languages.spellings import write_out_umlauts
from index.documents.languages.word_language import WordLanguage
from index.documents.thesaurus import Synonyms, fold_text, group_synonyms
from index.items import Collection

MOST_CACHED = 1_000  # collections


@dataclass(frozen=True, slots=True)
class Curation:
    """Synonyms by folded words, pinned ids by spelled texts, and a language."""

    version: str | None
    synonyms: Synonyms
    pins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    language: WordLanguage = ENGLISH

    def list_pinned(self, text: str | None) -> tuple[str, ...]:
        """List the ids of a text's pinned items, however umlauts are spelled."""
        spellings = spell_umlauts(text) if text and self.pins else ()
        return next((self.pins[spelling] for spelling in spellings if spelling in self.pins), ())


class Curations:
    """The curations of collections, always the newest; for many threads."""

    def __init__(self, catalog: Catalog, synonyms: Synonyms | None) -> None:
        """`synonyms` are those of all collections."""
        self._catalog, self._general = catalog, synonyms or {}
        self._read = LRUCache[str, Curation](MOST_CACHED)
        self._nothing = Curation(None, self._general)
        self._turn = Lock()  # a full cache is changed by reading it

    def of(self, home: Collection) -> Curation:
        """Return the newest curation of a collection."""
        version = curation.read_version(self._catalog.reader, home)
        if version is None:
            return self._nothing
        with self._turn:
            remembered = self._read.get(home.token)
        if remembered is None or remembered.version != version:
            remembered = self._load(home, version)
            with self._turn:
                self._read[home.token] = remembered
        return remembered

    def _load(self, home: Collection, version: str) -> Curation:
        reader = self._catalog.reader
        added = group_synonyms(curation.read(reader, home, "synonyms"))
        pins = group_pins(curation.read(reader, home, "pins"))
        language = language_of(curation.read(reader, home, "language"))
        return Curation(version, _merge(self._general, added), pins, language)


def group_pins(pins: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Group pinned ids by the spellings of their texts, exact ones first.

    >>> group_pins([{"text": "Kaese", "ids": ["a"]}, {"text": "Käse!", "ids": ["b"]}])
    {'kaese': ('a',), 'kase': ('b',)}
    """
    by_text = {pin["text"]: tuple(pin["ids"]) for pin in pins}
    exact = {fold_text(text): ids for text, ids in by_text.items()}
    return {spelling: ids for text, ids in by_text.items() for spelling in spell_umlauts(text)} | (
        exact
    )


def spell_umlauts(text: str) -> tuple[str, ...]:
    """Fold a text, with its umlauts as one letter and as two.

    >>> spell_umlauts("Käse!"), spell_umlauts("Kaese")
    (('kase', 'kaese'), ('kaese',))
    """
    return tuple(dict.fromkeys((fold_text(text), fold_text(write_out_umlauts(text)))))


def _merge(general: Synonyms, added: Synonyms) -> dict[str, Sequence[str]]:
    return {
        word: tuple(dict.fromkeys([*general.get(word, ()), *added.get(word, ())]))
        for word in {**general, **added}
    }
