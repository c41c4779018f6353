import pytest

from training.evaluation.captions.treebank import treebank_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A dog , and a cat .", "a dog and a cat"),
        ("The woman's T-shirt doesn't fit.", "the woman 's t-shirt does n't fit"),
        ("two men ( and a dog )", "two men -lrb- and a dog -rrb-"),
        ("We cannot see Mr. Smith", "we can not see mr. smith"),
        ("at 10:30 , 1,000 people !", "at 10:30 1,000 people"),
        ("a 4-wheeler on 3rd street", "a 4-wheeler on 3rd street"),
        ('the letter " P. "', "the letter p."),
        ("", ""),
    ],
)
def test_words_are_those_of_the_treebank_without_punctuation(text, words):
    assert treebank_words(text) == words.split()
