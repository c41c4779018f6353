import pytest

from training.captioners.vocabulary import caption_words, vocabulary


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A dog , in the Grass !", ["a", "dog", "in", "the", "grass"]),
        ("a man 's t - shirt", ["a", "man's", "t-shirt"]),
        (
            "two long-sleeved shirts don't match",
            ["two", "long-sleeved", "shirts", "don't", "match"],
        ),
        ("it is n't 3 's", ["it", "isn't", "3's"]),
        ("... --", []),
    ],
)
def test_words_are_split_as_a_caption_writes_them(text, words):
    assert caption_words(text) == words


@pytest.fixture
def sentences():
    return ["A dog runs .", "A dog .", "A cat ."]


def test_the_most_frequent_word_of_a_vocabulary_is_first(sentences):
    assert vocabulary(sentences, least_count=1) == ("a", "dog", "cat", "runs")
    assert vocabulary(sentences, least_count=2) == ("a", "dog")


def test_a_vocabulary_without_words_is_refused(sentences):
    with pytest.raises(ValueError, match="no word comes 9 times"):
        vocabulary(sentences, least_count=9)
