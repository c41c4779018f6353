from pathlib import Path

import pytest

from training.data.captions import caption_words, vocabulary
from training.data.corpus import Corpus, Example


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
def corpus(tmp_path):
    photo = tmp_path / "photo.jpg"
    photo.touch()

    def example(name: str, *sentences: str) -> Example:
        return Example(name, Path(photo), sentences)

    train = (example("1", "A dog runs .", "A dog ."), example("2", "A cat ."))
    return Corpus("small", {"train": train, "val": (example("3", "A bird .", "A bird ."),)})


def test_the_vocabulary_is_of_train_alone_and_the_most_frequent_word_is_first(corpus):
    assert vocabulary(corpus, least_count=1) == ("a", "dog", "cat", "runs")
    assert vocabulary(corpus, least_count=2) == ("a", "dog")


def test_a_vocabulary_without_words_is_refused(corpus):
    with pytest.raises(ValueError, match="no word comes 9 times"):
        vocabulary(corpus, least_count=9)
