"""Completions of typed texts, by the items that they find."""

from __future__ import annotations

import numpy as np
import pytest

from index.completion import Completion, complete
from index.documents import Documents
from index.views import ItemRow


@pytest.fixture
def documents() -> Documents:
    documents = Documents()
    titles = ["Nike shirt", "Nike shoe", "Puma shoes", "Puma shorts", "Puma shoe"]
    documents.add(
        [ItemRow(at + 1, f"{at}", {"title": title}, ()) for at, title in enumerate(titles)]
    )
    return documents


def test_words_are_ranked_by_the_items_they_find(documents: Documents) -> None:
    assert complete(documents, "sho", 5) == [Completion("shoe", 3), Completion("shorts", 1)]


def test_words_before_count_too(documents: Documents) -> None:
    assert complete(documents, "nike sh", 5) == [
        Completion("nike shirt", 1),
        Completion("nike shoe", 1),
    ]


def test_words_are_completed_as_they_are_written(documents: Documents) -> None:
    documents.add([ItemRow(6, "AB-12", {"title": "Café T-shirts for women's feet"}, ())])
    assert complete(documents, "ab", 5) == [Completion("ab", 1), Completion("ab-12", 1)]
    for typed, text in (("ab-1", "ab-12"), ("AB1", "ab-12"), ("caf", "café"), ("wom", "women")):
        assert complete(documents, typed, 5) == [Completion(text, 1)]
    for typed in ("T-sh", "tsh"):
        assert complete(documents, typed, 5) == [Completion("t-shirts", 1)]


def test_no_more_than_asked_for_and_none_that_find_nothing(documents: Documents) -> None:
    assert complete(documents, "puma s", 1) == [Completion("puma shoe", 2)]
    documents.retire(np.array([4]))
    assert complete(documents, "shor", 5) == []
    assert complete(documents, "", 5) == []
