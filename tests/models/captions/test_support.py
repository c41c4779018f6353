"""Words of captions get the matcher's evidence, or a mark."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from models.captions.calibration import CaptionCalibration
from models.captions.support import rank, support
from models.registry import Caption, CaptionWord
from models.text.parsing import parse_trees
from models.types import Box

LEFT, RIGHT = Box(0, 0, 0.5, 0.5), Box(0.5, 0, 1, 0.5)


def written(text: str, attention: torch.Tensor | None = None) -> Caption:
    words = text.lower().split()
    return Caption(tuple(CaptionWord(word, -0.5, attention) for word in words), -0.5 * len(words))


@pytest.fixture
def matcher(engine):
    return engine.models.matcher


@pytest.fixture
def bag(matcher):
    """A photo of red on the left and blue on the right."""
    photo = torch.zeros(3, 30, 40, dtype=torch.uint8)
    photo[0, :, :20], photo[2, :, 20:] = 255, 255
    return matcher.embed_images([photo])[0]


def test_contributions_add_up_and_boxes_are_earned(matcher, calibration, bag):
    (found,) = support(matcher, calibration, bag, [written("a red and a blue")])
    assert found.text == "A red and a blue"
    red, blue = found.words[1], found.words[4]
    assert (red.span.of(found.text), red.box) == ("red", LEFT)
    assert (blue.span.of(found.text), blue.box) == ("blue", RIGHT)
    assert red.supported is blue.supported is True
    assert red.confidence == pytest.approx(0.9526, abs=1e-4)  # σ(3 · 3 − 6)
    given = [word.contribution for word in found.words]
    assert given[0] is given[2] is given[3] is None
    assert red.contribution + blue.contribution == pytest.approx(found.score)


def test_a_word_that_nothing_supports_has_no_box(matcher, calibration, bag):
    (found,) = support(matcher, calibration, bag, [written("red and lime")])
    lime = found.words[2]
    assert (lime.supported, lime.box) == (False, None)
    assert lime.confidence < 0.01
    assert sum(word.contribution or 0 for word in found.words) == pytest.approx(found.score)


def test_what_is_said_to_be_missing_is_supported_by_its_absence(matcher, calibration, bag):
    (found,) = support(matcher, calibration, bag, [written("red without lime")])
    lime = found.words[2]
    assert (lime.supported, lime.box) == (True, None)
    assert lime.confidence > 0.99
    assert lime.contribution <= 0


def test_an_unknown_word_is_not_supported(matcher, calibration, bag):
    (found,) = support(matcher, calibration, bag, [written("red asdfgh")])
    noise = found.words[1]
    assert (noise.confidence, noise.contribution, noise.supported) == (0.0, 0, False)


def test_without_a_calibration_nobody_knows(matcher, bag):
    (found,) = support(matcher, None, bag, [written("red")])
    assert (found.probability, found.words[0].supported) == (None, None)
    assert found.words[0].box == LEFT


def test_attention_is_the_box_that_was_looked_at_most(matcher, calibration, bag):
    boxes = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.5, 0.0, 1.0, 0.5]])
    caption = written("red", torch.tensor([0.25, 0.75]))
    (found,) = support(matcher, calibration, bag, [caption], boxes)
    assert found.words[0].attention is not None
    assert (found.words[0].attention.box, found.words[0].attention.share) == (RIGHT, 0.75)


def test_a_caption_without_words_scores_nothing(matcher, calibration, bag):
    (red, empty) = support(matcher, calibration, bag, [Caption((), 0.0), written("red")])
    assert (empty.score, empty.probability, empty.words) == (0.0, 0.0, ())
    assert red.score == pytest.approx(3, abs=0.1)


def test_a_modifier_stands_with_its_noun(matcher, calibration, bag):
    text = "a large red beside a large lime"
    tree = parse_trees([text])[0]
    assert [tree.words[tree.words[at].head].text for at in (1, 5)] == ["red", "lime"]
    (found,) = support(matcher, calibration, bag, [written(text)])
    first, red, second, lime = (found.words[at] for at in (1, 2, 5, 6))
    assert first.confidence == second.confidence
    assert (first.supported, red.supported) == (True, True)
    assert (second.supported, lime.supported) == (False, False)


def test_candidates_are_ranked_by_fluency_and_by_the_odds_that_they_are_so():
    caption = written("a red dog")  # -1.5 over 4 places
    fluency = -1.5 / 4**0.7
    assert rank(caption, None) == pytest.approx(fluency)
    assert rank(caption, 0.5) == pytest.approx(fluency)
    assert rank(caption, 0.75) == pytest.approx(fluency + 0.4 * math.log(3))
    assert rank(caption, 0.75, 0.1) == pytest.approx(fluency + 3 * 0.1 + 0.4 * math.log(3))
    assert rank(caption, 0.0) + rank(caption, 1.0) == pytest.approx(2 * fluency)  # both finite


def test_the_candidate_that_the_photo_shows_comes_first(matcher, calibration, bag):
    lime, red = Caption(written("lime").words, -0.1), Caption(written("red").words, -0.5)
    assert [one.text for one in support(matcher, calibration, bag, [lime, red])] == ["Red", "Lime"]
    assert [one.text for one in support(matcher, None, bag, [red, lime])] == ["Lime", "Red"]


def test_a_photos_caption_may_be_longer_than_the_likeliest(matcher, bag):
    short, long = Caption(written("a dog").words, -1.0), Caption(written("a red dog").words, -1.25)
    assert rank(short, None) > rank(long, None)
    assert support(matcher, None, bag, [short, long])[0].text == "A red dog"


def test_a_calibration_of_captions_says_how_probable_they_are(matcher, calibration, bag):
    calibrated = CaptionCalibration((1.0, 0, 4.0, -1.0, 0), 0.5, "c0104a5000000000", frozenset())
    familiar = [replace(written(text), familiarity=0.5) for text in ("red", "lime")]
    red, lime = support(matcher, calibration, bag, familiar, calibrated=calibrated)
    assert (red.text, lime.text) == ("Red", "Lime")
    for one in (red, lime):
        assert one.features is not None
        assert one.probability == calibrated.probability(one.features)
        assert one.rank == rank(one.caption, one.match, 0.03)  # by the matcher, as before
    plain = support(matcher, calibration, bag, familiar)[0]
    assert plain.probability == plain.match == red.match


def test_a_probable_caption_that_names_nothing_is_a_guess(matcher, calibration, bag):
    things = frozenset(("lime",))
    calibrated = CaptionCalibration((0.0, 0, 0, 0, 3.0), 0.5, "c0104a5000000000", things)
    captions = [replace(written(text), familiarity=0.5) for text in ("a lime", "red")]
    found = support(matcher, calibration, bag, captions, calibrated=calibrated)
    assert {one.text: one.unsure(0.5) for one in found} == {"A lime": False, "Red": True}
    assert all(one.probability == pytest.approx(0.9526, abs=1e-4) for one in found)  # σ(3)
    assert all(one.unsure(0.96) for one in found)
    plain = support(matcher, calibration, bag, captions)  # the probability alone decides
    assert [one.unsure(0.5) for one in plain] == [one.match < 0.5 for one in plain]


def test_a_caption_of_unknown_familiarity_is_as_probable_as_the_matcher_says(
    matcher, calibration, bag
):
    calibrated = CaptionCalibration((1.0, 0, 4.0, -1.0, 0), 0.5, "c0104a5000000000", frozenset())
    (found,) = support(matcher, calibration, bag, [written("red")], calibrated=calibrated)
    assert found.probability == found.match
    assert found.features is None
