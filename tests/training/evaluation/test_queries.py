import json

import numpy as np
import pytest

from training.evaluation import queries
from training.evaluation.queries import NaturalQuery, query_search

PHOTOS = ("cup", "cat", "rocket", "galaxy", "coin", "page")
# The scores of the six photos for one query, the wanted photo, its rank, the photo that is first.
TABLE = [
    ([6, 5, 4, 3, 2, 1], "cup", 1, "cup"),
    ([6, 5, 4, 3, 2, 1], "coin", 5, "cup"),
    ([6, 5, 4, 3, 2, 1], "page", 6, "cup"),
    ([1, 1, 0, 0, 0, 0], "cup", 2, "cup"),  # a tie is lost
]


@pytest.mark.parametrize(("scores", "wanted", "rank", "first"), TABLE)
def test_ranks_are_those_worked_by_hand(scores, wanted, rank, first):
    column = np.array([scores], dtype=np.float32).T  # (K, 1)
    search = query_search(column, PHOTOS, [NaturalQuery("it", wanted)])
    (answer,) = search.answers
    assert (answer.rank, answer.first) == (rank, first)
    assert (search.right_1, search.right_5) == (100 * (rank <= 1), 100 * (rank <= 5))


def test_shares_are_percentages_of_queries():
    scores = np.array([row for row, *_ in TABLE], dtype=np.float32).T  # (K, L)
    asked = [NaturalQuery("it", wanted) for _, wanted, *_ in TABLE]
    search = query_search(scores, PHOTOS, asked)
    assert (search.right_1, search.right_5, search.photos) == (25, 75, 6)


def test_a_photo_that_is_not_there_is_refused():
    with pytest.raises(LookupError, match="1 queries ask for absent photos, the first is dog"):
        query_search(np.zeros((6, 1), dtype=np.float32), PHOTOS, [NaturalQuery("a dog", "dog")])


def test_nan_is_refused():
    with pytest.raises(ValueError, match="6 of the scores are NaN"):
        query_search(
            np.full((6, 1), np.nan, dtype=np.float32), PHOTOS, [NaturalQuery("a cup", "cup")]
        )


ROWS = [{"text": "a cup", "id": "cup"}, {"text": "a cat", "id": "cat"}]
TOML = '[[queries]]\ntext = "a cup"\nid = "cup"\n[[queries]]\ntext = "a cat"\nid = "cat"\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("queries.json", json.dumps(ROWS)),
        ("queries.json", json.dumps({"queries": ROWS})),
        ("queries.jsonl", "\n".join(map(json.dumps, ROWS)) + "\n"),
        ("queries.toml", TOML),
    ],
)
def test_queries_are_read_from_each_format(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    assert queries.read(tmp_path / name) == (
        NaturalQuery("a cup", "cup"),
        NaturalQuery("a cat", "cat"),
    )


def test_no_file_holds_no_queries():
    assert queries.read(None) == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "must hold a list of queries"),
        ("{}", "must hold a list of queries"),
        ('[{"text": "a cup", "id": "cup"}, {"text": "a cat"}]', "query 2: expected a text and"),
        ('[{"text": "", "id": "cup"}]', "query 1: expected a text and an id"),
        ("[", r"queries\.json cannot be read as json \(Expecting value"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(tmp_path, content, message):
    (tmp_path / "queries.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        queries.read(tmp_path / "queries.json")
