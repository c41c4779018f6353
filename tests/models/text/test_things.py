import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.text.parsing import parse
from models.text.things import CLEARER, CLEAREST, DENIED, Condition, find_things

KNOWN = {"dog", "couch", "person", "potted plant", "bench"}
THERE = Condition(threshold=2.0, bias=-1.0, usual=-3.0)


def named(text):
    return [
        (thing.name, thing.span.of(text)) for thing in find_things(text, parse(text).words, KNOWN)
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("dog", [("dog", "dog")]),
        ("Two", []),
        ("a dog on a couch", [("dog", "dog"), ("couch", "couch")]),
        ("dogs and benches", [("dog", "dogs"), ("bench", "benches")]),
        ("people", [("person", "people")]),
        ("the potted plants, a dog", [("potted plant", "potted plants"), ("dog", "dog")]),
        ("dog, couch", [("dog", "dog"), ("couch", "couch")]),
    ],
)
def test_known_things_are_found_by_their_names_in_the_singular(text, names):
    assert named(text) == names


@pytest.mark.parametrize(
    "text", ["a red dog", "a dog runs", "two dogs", "dog couch", "a potted dog"]
)
def test_a_text_that_says_more_names_no_things(text):
    assert named(text) == []


def test_what_reaches_the_threshold_is_there():
    assert THERE.is_there(2.0)
    assert not THERE.is_there(1.99)


def test_a_thing_counts_by_the_logarithm_of_its_probability():
    # log σ(2 − 1) is −0.3133 at the threshold, log σ(0) is −0.6931, log σ(99) is 0.
    counted = THERE.count(np.array([1.0, 2.0, 100.0], np.float32), negated=False)
    assert counted == pytest.approx([0.3133 - 0.6931 - CLEARER, 0.0, 0.3133 + 98 * CLEARER], 1e-3)


def test_where_a_thing_is_certain_the_clearest_photo_counts_most():
    scores = np.linspace(20, 60, 81, dtype=np.float32)  # σ of these is 1 in single precision
    for negated, sign in ((False, 1), (True, -1)):
        assert (sign * np.diff(THERE.count(sign * scores, negated=negated)) > 0).all()


def test_a_denied_thing_takes_more_than_scores_differ_by_where_it_is_there():
    # −log(1 − σ(−99)) is 0, −log(1 − σ(0)) is 0.6931, −log(1 − σ(1)) is 1.3133.
    counted = THERE.count(np.array([-98.0, 1.0, 2.0], np.float32), negated=True)
    usual = CLEAREST * CLEARER
    expected = [0.0, 0.6931 + usual - CLEARER, DENIED + 1.3133 + usual]
    assert counted == pytest.approx(expected, abs=1e-4)


def test_a_photo_far_from_a_denied_thing_counts_as_any_other():
    scores = np.array([-70.0, -1e6, -np.inf], np.float32)
    assert THERE.count(scores, negated=True) == pytest.approx([0.0] * 3, abs=1e-30)


@given(
    st.floats(-60, 60),
    st.floats(-60, 60),
    st.floats(-90, 90, width=32),
    st.floats(0, 4, width=32),
    st.floats(-1, 1),
    st.booleans(),
)
def test_counts_are_off_by_no_more_than_widened_errors(
    threshold, bias, score, error, share, negated
):
    there = Condition(threshold, bias, usual=0.0)
    scores, errors = np.array([score], np.float32), np.array([error], np.float32)
    (wide,) = there.widen(scores, errors, negated=negated)
    other = np.clip(np.float32(score + share * error), scores - errors, scores + errors)
    counted = there.count(scores, negated=negated)
    assert abs(there.count(other, negated=negated) - counted) <= wide


def test_errors_matter_little_where_a_thing_is_certain():
    scores, errors = np.array([-15.0, 15.0], np.float32), np.full(2, 0.5, np.float32)
    present, denied = (THERE.widen(scores, errors, negated=negated) for negated in (False, True))
    assert present[0] > 0.4
    assert present[1] < 3e-4
    assert denied[0] < 5e-4
    assert denied[1] > 0.4


def test_a_score_whose_error_reaches_the_threshold_may_count_or_not():
    scores, errors = np.array([1.0, 1.9, 2.5], np.float32), np.full(3, 0.2, np.float32)
    widened = THERE.widen(scores, errors, negated=True)
    assert (widened > DENIED).tolist() == [False, True, False]


def test_confidence_is_one_half_where_a_photo_says_no_more_than_any():
    assert THERE.confidence(-2.0) == 0.5
    assert THERE.confidence(-1000.0) == 0.0
    assert THERE.confidence(1000.0) == 1.0
