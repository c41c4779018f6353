import pytest

from models.lexicon import is_enclitic, is_function_word


@pytest.mark.parametrize("word", ["The", "of", "is", "and", "They", "n't", "’s"])
def test_words_of_closed_classes_are_function_words(word):
    assert is_function_word(word)


@pytest.mark.parametrize("word", ["dog", "red", "two", "jumping", "s", "2"])
def test_other_words_are_not(word):
    assert not is_function_word(word)


def test_enclitics_lean_on_the_word_before_them():
    assert is_enclitic("'s")
    assert is_enclitic("N’T")
    assert not is_enclitic("is")
