from random import Random
from string import ascii_lowercase

import pytest

from models.text.lexicon import is_enclitic, is_function_word, is_known, is_latin


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


KNOWN = (
    "dog Nike two 2 1,000 2nd 4x4 mp3 T-shirt bookcases running skateboarders feline café Müller "
    "spaceship firetruck hoodies it n't x"
)


@pytest.mark.parametrize("word", KNOWN.split())
def test_english_words_names_and_numbers_are_known(word):
    assert is_known(word)


@pytest.mark.parametrize("word", ["asdfgh", "qwrtz", "chiar", "sdfsdf", "hjkl", "日本", "собака"])
def test_keyboard_noise_and_other_scripts_are_not(word):
    assert not is_known(word)


def test_random_letters_are_rarely_a_word():
    random = Random(0)
    words = ["".join(random.choice(ascii_lowercase) for _ in range(6)) for _ in range(500)]
    assert sum(map(is_known, words)) <= 5


def test_accents_are_latin_and_other_scripts_are_not():
    assert is_latin("Ærøskøbing, 2nd")
    assert not is_latin("кафе")
