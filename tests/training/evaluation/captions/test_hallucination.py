import pytest

from models.types import Box, Span
from training.data.entities import GroundedSentence, TruePhrase
from training.evaluation.captions.hallucination import (
    CaptionedPhoto,
    find_nouns,
    hallucination,
    parse_trees,
)
from training.evaluation.captions.wordnet import FOLDER, WordNet

pytestmark = pytest.mark.skipif(
    not (FOLDER / "data.noun").is_file(), reason="WordNet is not installed: apt wordnet-base"
)
DOG = Box(0.1, 0.1, 0.5, 0.5)


@pytest.fixture(scope="module")
def wordnet():
    return WordNet()


def found(wordnet, caption, *sentences, **more):
    return hallucination([CaptionedPhoto(caption, sentences, **more)], wordnet)


def test_a_noun_is_right_by_a_synonym_and_by_a_broader_name(wordnet):
    assert found(wordnet, "A dog", "A puppy sleeps .").hallucinated == 0
    assert found(wordnet, "An automobile", "The cars wait .").hallucinated == 0
    assert found(wordnet, "An animal", "Two dogs run .").hallucinated == 0


def test_a_noun_that_no_sentence_names_is_invented(wordnet):
    measured = found(wordnet, "A dog runs with a ball", "A dog runs .")
    assert (measured.nouns, measured.hallucinated, measured.captions) == (2, 50, 100)


def test_further_names_of_the_photo_count(wordnet):
    assert found(wordnet, "A cow", "It stands .", names=("cow",)).hallucinated == 0


def test_a_person_whom_no_sentence_names_counts(wordnet):
    assert found(wordnet, "A man runs", "A dog runs .").persons == 100
    assert found(wordnet, "A man runs", "A crowd runs .").persons == 0


def test_nouns_before_of_and_within_compounds_do_not_stand_for_themselves(wordnet):
    (tree,) = parse_trees(["A man eats ice cream in front of a house"])
    assert [noun.name for noun in find_nouns(tree, wordnet)] == ["man", "ice cream", "house"]


@pytest.mark.parametrize(("box", "share"), [(DOG, 100), (Box(0.6, 0.6, 1, 1), 0)])
def test_a_noun_is_grounded_where_its_box_is_a_true_one(wordnet, box, share):
    sentence = GroundedSentence("A puppy runs", (TruePhrase("A puppy", Span(0, 7), (DOG,)),))
    measured = found(
        wordnet, "A dog", "A puppy runs", grounded=[sentence], attended={Span(2, 5): box}
    )
    assert (measured.boxed, measured.grounded) == (1, share)


def test_nouns_without_boxes_are_not_grounded(wordnet):
    assert found(wordnet, "A dog", "A puppy runs").grounded is None


def test_guesses_are_counted_beside_what_is_right(wordnet):
    captions = [("A dog", False), ("A cat", False), ("A puppy", True), ("A man", True)]
    measured = hallucination(
        [CaptionedPhoto(text, ("A puppy runs",), unsure=unsure) for text, unsure in captions],
        wordnet,
    )
    assert (measured.sure, measured.sure_right, measured.right_sure) == (50, 50, 50)
    unknown = found(wordnet, "A dog", "A puppy runs")
    assert (unknown.sure, unknown.sure_right, unknown.right_sure) == (None, None, None)


def test_no_captions_are_refused(wordnet):
    with pytest.raises(ValueError, match="no captions"):
        hallucination([], wordnet)
