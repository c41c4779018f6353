import pytest

from training.evaluation.captions.measure import GeneratedCaption
from training.evaluation.captions.naming import naming
from training.evaluation.captions.wordnet import FOLDER, WordNet

pytestmark = pytest.mark.skipif(
    not (FOLDER / "data.noun").is_file(), reason="WordNet is not installed: apt wordnet-base"
)


def test_captions_that_name_persons_and_animals_are_counted():
    captions = [
        GeneratedCaption("A man with a dog", unsure=False),
        GeneratedCaption("A woman in a field", unsure=True),
        GeneratedCaption("A pile of fruit", unsure=False),
        GeneratedCaption("A group of people", unsure=False),
    ]
    measured = naming(captions, "abcd", WordNet())
    assert (measured.persons, measured.animals) == (75, 25)
    assert (measured.sure, measured.sure_persons) == (75, 50)
    assert measured.captions["c"] == "A pile of fruit"
    assert measured.guesses == ("b",)


def test_without_probabilities_nobody_knows_which_captions_are_sure():
    measured = naming([GeneratedCaption("A man")], ["a"], WordNet())
    assert (measured.persons, measured.sure, measured.sure_persons) == (100, None, None)


def test_no_captions_are_refused():
    with pytest.raises(ValueError, match="no captions to measure"):
        naming([], [], WordNet())
