"""Synonyms, pins and languages of collections as JSON, and changes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.engine.engine import Engine
from app.schemas.curation import LanguageOut, PinIn, PinOut, PinsOut, SynonymsOut
from index.database import curation
from index.database.curation import Kind
from index.documents.languages.snowball import find_language, language_of
from index.documents.thesaurus import fold_text

MOST_NAMED = 10  # ids in a note


def synonyms(engine: Engine, name: str) -> SynonymsOut:
    """The synonyms of a collection."""
    return SynonymsOut(synonyms=_read(engine, name, "synonyms"))


def put_synonyms(engine: Engine, name: str, lines: Sequence[Sequence[str]]) -> SynonymsOut:
    """Replace the synonyms of a collection; ValueError for signs alone."""
    for word in (word for line in lines for word in line):
        _fold(word, "synonyms")
    _write(engine, name, "synonyms", [list(line) for line in lines])
    return synonyms(engine, name)


def pins(engine: Engine, name: str) -> PinsOut:
    """The pinned items of a collection, with notes on missing ones."""
    pinned = [PinOut.model_validate(pin) for pin in _read(engine, name, "pins")]
    ids = list(dict.fromkeys(id_ for pin in pinned for id_ in pin.ids))
    return PinsOut(pins=pinned, notes=_note_missing(engine, name, ids))


def put_pins(engine: Engine, name: str, sent: Sequence[PinIn]) -> PinsOut:
    """Replace the pinned items of a collection; ValueError for duplicates."""
    texts: dict[str, str] = {}
    for pin in sent:
        folded = _fold(pin.text, "pins")
        if folded in texts:
            raise ValueError(f"pins: {texts[folded]!r} and {pin.text!r} are the same text")
        if len(set(pin.ids)) < len(pin.ids):
            raise ValueError(f"pins: an id is there twice for {pin.text!r}; name it once")
        texts[folded] = pin.text
    _write(engine, name, "pins", [pin.model_dump() for pin in sent])
    return pins(engine, name)


def language(engine: Engine, name: str) -> LanguageOut:
    """The language of a collection."""
    chosen = language_of(_read(engine, name, "language"))
    return LanguageOut(language=chosen.code, name=chosen.name)


def put_language(engine: Engine, name: str, code: str) -> LanguageOut:
    """Choose the language of a collection; ValueError for an unknown one."""
    _write(engine, name, "language", [find_language(code).code])
    return language(engine, name)


def _fold(text: str, field: str) -> str:
    folded = fold_text(text)
    if not folded:
        raise ValueError(f"{field}: {text!r} has no letter or digit, so no text is like it")
    return folded


def _note_missing(engine: Engine, name: str, ids: Sequence[str]) -> list[str]:
    stored = engine.read(name, engine.catalog.get_many, ids, set()) if ids else {}
    missing = [id_ for id_ in ids if id_ not in stored]
    if not missing:
        return []
    named = ", ".join(f"{id_!r:.100}" for id_ in missing[:MOST_NAMED])
    more = len(missing) - MOST_NAMED
    return [f"not stored yet: {named}" + (f" and {more} more" if more > 0 else "")]


def _read(engine: Engine, name: str, kind: Kind) -> list[Any]:
    return engine.read(name, lambda home: curation.read(engine.catalog.reader, home, kind))


def _write(engine: Engine, name: str, kind: Kind, value: list[Any]) -> None:
    engine.write(name, lambda home: curation.write(engine.catalog.writer, home, kind, value))
