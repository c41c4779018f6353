"""Documents follow the catalog: puts, replacements, deletions."""

from __future__ import annotations

import numpy as np
import pytest

from index.database import curation
from index.documents import reader as document_reader
from index.documents.languages.snowball import find_language
from index.documents.reader import DocumentReader
from index.products.ranking import rank
from index.products.requests import ProductRequest


@pytest.fixture
def reader(catalog, collection):
    reader = DocumentReader(catalog, collection)
    yield reader
    reader.close()


@pytest.fixture
def put(catalog, collection, entry):
    def store(item, **metadata):
        catalog.replace(collection, entry(item, metadata=metadata))

    return store


def there(documents):
    return [documents.ids[number] for number in np.flatnonzero(documents.live)]


def test_changes_are_followed_one_by_one(catalog, collection, reader, put):
    for number in range(3):
        put(f"{number}", title=f"chair {number}")
    first = reader.current()
    assert there(first) == ["0", "1", "2"]
    put("3", title="table")
    assert reader.current() is first
    assert there(first) == ["0", "1", "2", "3"]
    assert first.behind == 0


def test_documents_without_those_that_are_gone_are_as_if_read_anew(
    catalog, collection, reader, put, monkeypatch
):
    monkeypatch.setattr(document_reader, "STEP", 2)
    for number in range(7):
        put(f"{number % 4}", title=f"chair {number}")
        reader.current()
    catalog.delete(collection, "2")
    documents = reader.current()
    assert sorted(there(documents)) == ["0", "1", "3"]
    assert reader.current().wasteful is False
    assert "2" not in documents.lexical.vocabulary.counts


def test_many_documents_are_kept_when_one_is_gone(catalog, collection, reader, put, monkeypatch):
    monkeypatch.setattr("index.documents.documents.FEW", 2)
    for number in range(10):
        put(f"{number}", colour="red")
    before = reader.current()
    catalog.delete(collection, "4")
    assert reader.current() is before
    assert "4" not in there(before)
    found = rank(before, ProductRequest(where={"colour": "red"}), {})
    assert (found.total, found.items) == (9, 9)


def test_forgotten_retirements_are_found_by_what_is_left(catalog, collection, reader, put):
    for number in range(20):
        put(f"{number}")
    reader.current()
    catalog.delete(collection, "7")
    catalog.purge(collection, catalog.revision(collection))
    assert "7" not in there(reader.current())


def test_background_reader_waits_for_what_this_process_wrote(catalog, collection, reader, put):
    put("a", title="chair")
    reader.start()
    assert there(reader.current()) == ["a"]
    put("b", title="table")
    assert there(reader.current()) == ["a", "b"]


def test_fields_are_metadata_texts_sentences_and_the_id(catalog, collection, reader, put):
    put("AB-1", title="Oak chair", tags=["big", 3], price=3)
    documents = reader.current()
    vocabulary = documents.lexical.vocabulary
    assert {"oak", "chair", "big", "sentence", "ab", "1"} <= vocabulary.counts.keys()
    assert vocabulary.joined == {"ab1": 1}


def test_documents_are_read_once_more_in_another_language(catalog, collection, reader, put):
    put("1", title="Rote Schuhe")
    before = reader.current()
    assert "schuh" not in before.lexical.vocabulary.having
    reader.use({}, find_language("de"))
    documents = reader.current()
    assert "schuh" in documents.lexical.vocabulary.having
    assert there(documents) == ["1"]
    put("2", title="Zwei Schuhe")
    assert there(reader.current()) == ["1", "2"]
    assert reader.current() is documents


def test_a_reader_begins_in_the_stored_language(catalog, collection, put):
    curation.write(catalog.writer, collection, "language", ["de"])
    put("1", title="Rote Schuhe")
    reader = DocumentReader(catalog, collection)
    reader.start()
    try:
        assert reader.current().language.code == "de"
        reader.use({}, find_language("fr"))
        assert reader.current().language.code == "fr"
    finally:
        reader.close()


def test_the_first_search_waits_a_moment(catalog, collection, put):
    put("a", title="oak")
    reader = DocumentReader(catalog, collection)
    reader.start()
    try:
        assert reader.current(partial=True).ids == ["a"]
    finally:
        reader.close()
