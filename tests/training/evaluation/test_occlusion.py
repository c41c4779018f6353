import pytest
import torch

from models.types import WHOLE_FRAME, Box, FragmentBag, Span
from training.evaluation.embedding import read_pixels
from training.evaluation.occlusion import Pair, far_corner, find_claims, grey, occlusion

LEFT, RIGHT = Box(0.0, 0.0, 0.5, 1.0), Box(0.5, 0.0, 1.0, 1.0)
PLACES = (WHOLE_FRAME, LEFT, RIGHT)


def bags(photo, sentence):
    """A photo's bag of frame and halves, and a sentence's."""
    words = tuple(Span(i, i + 1) for i in range(len(sentence)))
    return (
        FragmentBag(torch.tensor(photo), PLACES, ("", "", "")),
        FragmentBag(torch.tensor(sentence), words, ("",) * len(sentence)),
    )


@pytest.fixture
def red_and_green(two_colours):
    return two_colours("photo.jpg", (200, 0, 0), (0, 200, 0))


def test_a_region_claims_what_it_adds_to_the_whole_photo_for_its_words():
    claim, other = find_claims(
        *bags(
            [[1.0, 1.0], [3.0, 0.0], [0.0, 4.0]],
            [[1.0, 0.0], [0.5, 0.0], [0.0, 1.0]],
        )
    )
    assert (claim.box, claim.words) == (LEFT, (0, 1))
    assert (claim.linked, claim.added, claim.removed) == (4.5, 3.0, 3.0)
    assert (other.box, other.words, other.added) == (RIGHT, (2,), 3.0)


def test_without_its_vector_a_word_turns_to_the_second_best_region():
    (claim,) = find_claims(*bags([[1.0, 0.0], [3.0, 0.0], [2.5, 0.0]], [[1.0, 0.0]]))
    assert (claim.added, claim.removed) == (2.0, 0.5)


def test_a_word_of_the_whole_photo_belongs_to_no_claim():
    assert find_claims(*bags([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]], [[1.0, 0.0]])) == []


def test_a_bag_without_the_whole_photo_claims_nothing():
    image = FragmentBag(torch.eye(2), (LEFT, RIGHT), ("", ""))
    assert find_claims(image, FragmentBag(torch.eye(2), (Span(0, 1), Span(2, 3)), ("", ""))) == []


def test_words_lose_what_their_region_adds_when_its_pixels_are_grey(colours, red_and_green):
    (image,) = colours.embed_images([read_pixels(red_and_green)])
    (sentence,) = colours.embed_sentences(["red"])
    measured = occlusion(colours, [Pair(red_and_green, image, sentence)], 5)
    # The left half has a red of 2.0, the whole photo of 1.0, and grey has 1.27.
    assert measured.regions == 1
    assert (measured.linked, measured.added) == pytest.approx((2.0, 1.0), abs=0.1)
    assert measured.removed == measured.added
    assert measured.greyed == pytest.approx(2.0 - 1.27, abs=0.1)
    assert measured.elsewhere == pytest.approx(0.0, abs=0.1)
    assert measured.greyed_correlation is None  # of one region


def test_the_sample_is_the_same_every_time(colours, red_and_green):
    sentences = colours.embed_sentences(["red", "green", "red green"])
    image = bags([[1.0, 1.0], [2.0, 0.0], [0.0, 2.5]], [[1.0, 0.0]])[0]
    pairs = [Pair(red_and_green, image, sentence) for sentence in sentences]
    first = occlusion(colours, pairs, 2, seed=1)
    assert first.regions == 2
    assert first == occlusion(colours, pairs, 2, seed=1)
    assert occlusion(colours, pairs, 9).regions == 3


def test_nothing_is_claimed_without_photos_or_by_another_score(colours, red_and_green):
    pair = Pair(red_and_green, *bags([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]], [[1.0, 0.0]]))
    assert occlusion(colours, [pair], 0) is None
    assert occlusion(colours, [], 5) is None
    colours.score = "mean_of_positive"
    assert occlusion(colours, [pair], 5) is None


def test_grey_covers_the_box_and_nothing_else():
    photo = torch.zeros(3, 4, 10, dtype=torch.uint8)
    covered = grey(photo, Box(0.2, 0.5, 0.4, 1.0))
    assert covered.sum() == 127 * 3 * 2 * 2
    assert (covered[:, 2:, 2:4] == 127).all()
    assert photo.sum() == 0


def test_the_far_corner_lies_opposite_and_has_the_same_size():
    assert far_corner(Box(0.5, 0.0, 1.0, 0.25)) == Box(0.0, 0.75, 0.5, 1.0)
    assert far_corner(Box(0.0, 0.25, 0.75, 1.0)) == Box(0.25, 0.0, 1.0, 0.75)
