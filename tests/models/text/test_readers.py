import pytest
import torch

from models.text.readers import NumberReader, PairReader, TreeReader, WordReader
from models.types import WHOLE_SENTENCE, Span

TEXTS = ["Two dogs run.", "dogs"]


def test_words_are_read_one_by_one_or_as_a_whole():
    words, whole = WordReader(), WordReader(whole=True)
    (one, other), places = words(TEXTS)
    assert (one.shape, other.shape) == ((3, 384), (1, 384))
    assert places[0] == [("Two", Span(0, 3)), ("dogs", Span(4, 8)), ("run", Span(9, 12))]
    assert whole(TEXTS)[1][0] == [(WHOLE_SENTENCE, Span(0, 12))]
    assert torch.equal(whole(TEXTS)[0][0], one)
    assert words.key() == whole.key()


def test_numbers_are_those_of_a_vocabulary_and_0_is_any_other_word():
    inputs, places = NumberReader(("dogs", "two"))(TEXTS)
    assert [one.tolist() for one in inputs] == [[[2], [1], [0]], [[1]]]
    assert places[1] == [(WHOLE_SENTENCE, Span(0, 4))]


def test_pairs_are_two_columns_after_the_vectors():
    (one, _), places = PairReader("bigrams", (), "")(TEXTS)
    assert one.shape == (3, 384 + 2)
    assert one[:, -2:].tolist() == [[-1, 0], [0, 0], [1, 0]]
    assert [label for label, _ in places[0]] == ["Two", "Two dogs", "dogs run"]


def test_trees_are_four_columns_after_the_vectors():
    (one, _), places = TreeReader(("nummod", "nsubj"), 5, "")(TEXTS)
    assert one.shape == (3, 384 + 4)
    assert one[:, -4:-2].tolist() == [[1, 1], [2, 2], [-1, 0]]  # heads and relations
    assert places[0] == [(WHOLE_SENTENCE, Span(0, 12))]


def test_keys_differ_wherever_inputs_do():
    readers = [
        WordReader(), NumberReader(("dogs",)), NumberReader(("cats",)), PairReader("words", (), ""),
        PairReader("bigrams", (), ""), TreeReader((), 5, ""), TreeReader((), 4, ""),
        TreeReader(("det",), 5, ""),
    ]  # fmt: skip
    assert len({reader.key() for reader in readers}) == len(readers)


@pytest.mark.parametrize("text", ["", "...", "dog " * 10_000])
def test_a_text_without_words_or_with_too_many_is_refused(text):
    with pytest.raises(ValueError, match="words"):
        WordReader()(["dog", text])
