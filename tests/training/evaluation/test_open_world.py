import pytest

from training.data.corpus import Example
from training.evaluation.open_world import open_world
from training.evaluation.queries import NaturalQuery

RED, GREEN, BLACK = (200, 0, 0), (0, 200, 0), (0, 0, 0)
BRIGHT_RED, BRIGHT_GREEN = (250, 0, 0), (0, 250, 0)
PAIRS = {
    **{f"red {n}": (RED, BLACK) for n in range(5)},
    **{f"green {n}": (BLACK, GREEN) for n in range(6)},
    "both": (BRIGHT_RED, BRIGHT_GREEN),
}


@pytest.fixture
def photos(two_colours):
    return [
        Example(name, two_colours(f"{name}.jpg", *pair), (), {"colour": name.split()[0].title()})
        for name, pair in PAIRS.items()
    ]


def test_every_value_with_five_photos_is_a_query_over_all_photos(colours, photos):
    (search,) = open_world(colours, photos, ["colour"]).categories
    assert (search.field, search.photos, search.categories, search.rare) == ("colour", 12, 2, 1)
    # The photo that has both colours is brightest, so it comes first for each.
    red, green = (sum(k / (k + 1) for k in range(1, n + 1)) / n for n in (5, 6))
    assert search.mean_precision == pytest.approx(100 * (red + green) / 2)
    assert (search.precision_1, search.precision_5) == pytest.approx((0, 80))


def test_queries_rank_all_photos(colours, photos):
    measured = open_world(colours, photos, queries=[NaturalQuery("red green", "both")])
    assert measured.categories == ()
    assert (measured.queries.right_1, measured.queries.photos) == (100, 12)


def test_a_field_is_checked_before_photos_are_embedded(photos):
    with pytest.raises(LookupError, match="no photo has a field 'color'"):
        open_world(None, photos, ["color"])
