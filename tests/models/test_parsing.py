import pytest

from models.parsing import MOST_WORDS, parse


def words(text):
    return [word.text for word in parse(text).words]


@pytest.mark.parametrize(
    "text",
    [
        "A dog runs.",
        "  two  spaces\tand\nlines ",
        "a naïve café, été",
        "🐶 dog 👩‍👩‍👧 family",
        "don't-stop (really)!",
        "狗在跑 ½ cup",
        "x\x00y",
    ],
)
def test_spans_point_into_the_text(text):
    for word in parse(text).words:
        assert text[word.span.start : word.span.end] == word.text


def test_punctuation_is_no_word():
    assert words('A "dog", running - fast!') == ["A", "dog", "running", "fast"]


def test_emoji_are_no_words_and_do_not_move_spans():
    (dog,) = parse("🐶 dog 🐶").words
    assert (dog.span.start, dog.span.end) == (2, 5)


@pytest.mark.parametrize("text", ["", "   ", "...", "🐶", "\x00", "—"])
def test_a_text_without_words_is_refused(text):
    with pytest.raises(ValueError, match="no words"):
        parse(text)


@pytest.mark.parametrize("text", ["dog " * 10_000, "a," * (MOST_WORDS + 1), "dog" * 10_000])
def test_a_text_that_is_too_long_is_refused_with_the_limit(text):
    with pytest.raises(ValueError, match=f"at most {MOST_WORDS}"):
        parse(text)


def test_a_huge_text_is_refused_before_it_is_tokenized(monkeypatch):
    monkeypatch.setattr("models.parsing.tokenizer", None)
    with pytest.raises(ValueError, match="at most"):
        parse("dog " * 10_000)


def test_the_longest_sentence_is_kept_whole():
    assert len(words("dog " * MOST_WORDS)) == MOST_WORDS


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(ValueError, match="surrogate"):
        parse("\ud83d dog")
