import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from models.scores.calibration import Calibration, PairKind, find_weak_line, kind_of
from models.text.queries import Query
from models.types import WHOLE_FRAME, WHOLE_PHOTO, FragmentBag, Span

COEFFICIENTS = torch.tensor([[1.0, 0.5, -0.25, 2.0], [0.5, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, -1.0]])


@pytest.fixture
def calibration():
    photos = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    return Calibration(photos, torch.tensor([[1.0, 1.0]]), COEFFICIENTS, 0.3)


def text(*vectors):
    places = tuple(Span(2 * i, 2 * i + 1) for i in range(len(vectors)))
    return FragmentBag(torch.tensor(vectors), places, ("w",) * len(vectors))


def photo(*vectors):
    labels = (WHOLE_PHOTO, *("r",) * (len(vectors) - 1))
    return FragmentBag(torch.tensor(vectors), (WHOLE_FRAME,) * len(vectors), labels)


def floats(*values):
    return np.array(values, np.float32)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_kinds_are_told_by_places():
    assert kind_of(text([1.0]), in_photos=True) is PairKind.TEXT_IN_PHOTO
    assert kind_of(text([1.0]), in_photos=False) is PairKind.TEXT_AND_TEXT
    assert kind_of(photo([1.0]), in_photos=True) is PairKind.PHOTO_IN_PHOTO


def test_a_probability_by_hand(calibration):
    scores, sums, sizes = floats(3.0, -1.0), floats([1.0, 2.0]), np.array([4])
    answered = math.log(math.exp(1.0) + math.exp(4.0))
    expected = [sigmoid(score + 0.5 * answered - 0.25 * 4 + 2) for score in (3.0, -1.0)]
    found = calibration.probabilities(PairKind.TEXT_IN_PHOTO, scores, sums, sizes)
    assert found.tolist() == pytest.approx(expected)


def test_texts_and_texts_are_compared_by_angles_and_with_sentences(calibration):
    """A cosine of one half is an angle of π / 3."""
    features = calibration.features(
        PairKind.TEXT_AND_TEXT, floats(0.5), floats([7.0, 0.0]), np.array([4])
    )
    assert features[0].tolist() == pytest.approx([-math.pi / 3, math.sqrt(0.5), 4.0, 1.0])


def test_sums_too_long_for_single_precision_are_improbable_and_no_error(calibration):
    sums, sizes = floats([1e38, 2e38]), np.array([4])
    calibration = replace(calibration, coefficients=-COEFFICIENTS)
    found = calibration.probabilities(PairKind.TEXT_IN_PHOTO, floats(3.0), sums, sizes)
    assert found.tolist() == [0.0]


def test_rounding_makes_no_angle_impossible(calibration):
    sums, sizes = floats([1.0, 0.0]), np.array([4])
    scores = floats(1.0 + 1e-6, 1.0, -1.0 - 1e-6)
    probable = calibration.probabilities(PairKind.TEXT_AND_TEXT, scores, sums, sizes)
    assert probable[0] == probable[1] > probable[2] > 0


def test_a_calibration_may_lack_texts(calibration):
    assert calibration.compares_texts
    assert not replace(calibration, coefficients=COEFFICIENTS[:2]).compares_texts


def test_each_row_may_have_sums_of_its_own(calibration):
    scores, sums = floats(3.0, 3.0), floats([1.0, 2.0], [0.0, 0.0])
    sizes = np.array([4, 2])
    both = calibration.probabilities(PairKind.TEXT_IN_PHOTO, scores, sums, sizes)
    for row in range(2):
        here = slice(row, row + 1)
        own = calibration.probabilities(
            PairKind.TEXT_IN_PHOTO, scores[here], sums[here], sizes[here]
        )
        assert own.item() == pytest.approx(both[row].item())


def test_an_answer_is_as_probable_as_its_least_probable_part(calibration):
    red, blue = text([1.0, 0.0]), text([0.0, 1.0])
    query = Query((red, blue), (2.0, -0.5))
    scores = floats([4.0, -4.0, 4.0], [-9.0, -9.0, 2.0])
    has_red, has_blue = (
        calibration.of_query(Query.of(part), own[None], in_photos=True)
        for part, own in zip((red, blue), scores, strict=True)
    )
    expected = np.minimum(has_red, 1 - has_blue)
    assert calibration.of_query(query, scores, in_photos=True).tolist() == expected.tolist()
    assert expected.argmax() == 0


def test_a_pair_has_the_probability_of_its_score(calibration):
    image, query = photo([1.0, 0.0], [0.0, 3.0]), Query.of(text([1.0, 0.0], [0.0, 1.0]))
    expected = calibration.of_query(query, floats([4.0]), in_photos=True)
    assert calibration.of_pair(image, query, "sum_of_max") == pytest.approx(expected.item())
    assert calibration.of_pair(image, Query((), ()), "sum_of_max") == 0


def test_what_is_negated_is_probable_where_it_is_not(calibration):
    query = Query((text([0.0, 1.0]),), (-0.5,))
    there, absent = (
        calibration.of_pair(image, query, "sum_of_max")
        for image in (photo([0.0, 5.0]), photo([5.0, -9.0]))
    )
    assert there < 0.01 < absent


def test_terms_count_between_texts_and_photos_alone(calibration):
    """The last number speaks of a catalogue's term."""
    longer = replace(calibration, general=2)
    asked, seen = Query.of(text([1.0, 2.0, 3.0])), Query.of(photo([1.0, 2.0, 3.0]))
    for query, in_photos, last in (
        (asked, True, 3.0),
        (asked, False, 0.0),
        (seen, True, 0.0),
        (seen, False, 3.0),
    ):
        (part,) = longer.drop_terms(query, in_photos).parts
        assert part.vectors.tolist() == [[1.0, 2.0, last]]
        assert calibration.drop_terms(query, in_photos) is query


def test_a_pair_has_the_same_probability_whatever_others_are_computed_with_it(calibration):
    """As on shards with parts of the hits, to the last bit."""
    scores = 2 * np.random.default_rng(0).standard_normal(1001, np.float32)
    sums, size = floats([1.0, 2.0]), np.array([4])
    several = calibration.probabilities(PairKind.TEXT_IN_PHOTO, scores, sums, size)
    alone = [
        calibration.probabilities(PairKind.TEXT_IN_PHOTO, one, sums, size)
        for one in np.split(scores, len(scores))
    ]
    assert np.array_equal(several, np.concatenate(alone))


@pytest.mark.parametrize(
    ("probabilities", "line"),
    [
        ([0.9, 0.4, 0.3, 0.1], 0.3),  # means .9, .65, .53, .43
        ([0.45, 0.4], 0.5),  # no mean of one half
        ([], 0.5),
        ([0.99] * 20 + [0.02], 0.1),  # sure ones do not carry improbable ones
    ],
)
def test_half_of_what_is_above_the_line_of_weak_hits_is_expected_to_be_right(probabilities, line):
    assert find_weak_line(np.array(probabilities, np.float32)) == pytest.approx(line)
