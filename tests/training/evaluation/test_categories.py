from pathlib import Path

import numpy as np
import pytest

from training.data.corpus import Example
from training.evaluation.categories import category_search, frequent, members_of


def photo(name, **fields):
    return Example(name, Path(name), (), fields)


def of(*columns):
    """Scores (K, L) from a list of photos' scores for each category."""
    return np.array(columns, dtype=np.float32).T


@pytest.mark.parametrize(
    ("scores", "members", "mean_precision", "precision_1", "precision_5"),
    [
        (of([4, 3, 2, 1]), [[0, 1]], 100, 100, 40),
        (of([1, 2, 3, 4]), [[0, 1]], 100 * (1 / 3 + 2 / 4) / 2, 0, 40),
        (of([4, 3, 2, 1], [4, 3, 2, 1]), [[0], [3]], 100 * (1 + 1 / 4) / 2, 50, 20),
        (of([0, 0, 0, 0]), [[0]], 25, 0, 20),  # a tie is lost
    ],
)
def test_precisions_are_those_worked_by_hand(
    scores, members, mean_precision, precision_1, precision_5
):
    search = category_search("kind", scores, members)
    assert search.mean_precision == pytest.approx(mean_precision)
    assert (search.precision_1, search.precision_5) == pytest.approx((precision_1, precision_5))
    assert (search.photos, search.categories) == (4, len(members))


def test_chance_is_the_mean_share_of_a_category():
    search = category_search("kind", of([4, 3, 2, 1], [4, 3, 2, 1]), [[0, 1, 2], [3]], rare=7)
    assert (search.chance, search.rare) == (50, 7)


def test_nan_is_refused():
    with pytest.raises(ValueError, match="1 of the scores are NaN"):
        category_search("kind", of([1, np.nan]), [[0]])


def test_scores_and_categories_must_agree():
    with pytest.raises(ValueError, match="for 2 categories"):
        category_search("kind", of([1, 2]), [[0], [1]])


def test_values_are_queries_in_lower_case_and_photos_without_one_have_no_category():
    photos = [
        photo("a", kind="Sports Shoes"),
        photo("b", kind="sports shoes "),
        photo("c"),
        photo("d", kind=3),
        photo("e", kind=" "),
        photo("f", kind="Belts"),
    ]
    assert members_of(photos, "kind") == {"belts": [5], "sports shoes": [0, 1]}


def test_an_unknown_field_names_those_there_are():
    with pytest.raises(LookupError, match="no photo has a field 'color'; there are: aisle, kind"):
        members_of([photo("a", kind="Milk"), photo("b", aisle="Fruit")], "color")


def test_rare_categories_are_no_queries():
    members = {"milk": [0, 1], "tea": [2]}
    assert frequent(members, 2) == {"milk": [0, 1]}
    with pytest.raises(LookupError, match="no category has 3 photos"):
        frequent(members, 3)


def test_joined_fields_ask_for_their_values_together():
    photos = [
        photo("a", colour="Navy Blue", kind="Shirts"),
        photo("b", colour="Red", kind="Shirts"),
        photo("c", kind="Shirts"),
        photo("d", colour="navy blue ", kind="shirts"),
    ]
    assert members_of(photos, "colour+kind") == {"navy blue shirts": [0, 3], "red shirts": [1]}
