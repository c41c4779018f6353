import pytest

from training.evaluation.captions.bleu import bleu


def test_bleu_equals_a_value_worked_by_hand():
    # caption  : a dog runs on the the      c = 6
    # reference: a dog runs on the grass    r = 6, no brevity penalty
    # p1 = 5/6 ("the" counts once), p2 = 4/5, p3 = 3/4, p4 = 2/3
    scores = bleu(["a dog runs on the the"], [["A dog runs on the grass ."]]).scores
    expected = [5 / 6, (5 / 6 * 4 / 5) ** (1 / 2), (5 / 6 * 4 / 5 * 3 / 4) ** (1 / 3)]
    expected.append((5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** (1 / 4))
    assert scores == pytest.approx([100 * value for value in expected])


def test_a_short_caption_pays_the_brevity_penalty():
    result = bleu(["a dog runs on"], [["a dog runs on the green grass today"]])
    assert result.scores == pytest.approx([100 * 2.718281828 ** (1 - 8 / 4)] * 4)
    assert result.length_ratio == 0.5


def test_the_closest_reference_sets_the_length_and_the_shorter_wins_a_tie():
    assert bleu(["a b c d"], [["a b c", "a b c d e"]]).length_ratio == pytest.approx(4 / 3)


def test_an_ngram_counts_as_often_as_in_the_reference_that_has_it_most():
    scores = bleu(["dog dog dog"], [["dog dog cat", "dog cat bird"]]).scores
    assert scores[0] == pytest.approx(100 * 2 / 3)


def test_precisions_are_pooled_over_the_corpus():
    scores = bleu(["a b", "c d e f g h"], [["a b"], ["x x x x x x"]]).scores
    assert scores[0] == pytest.approx(100 * 2 / 8)


def test_captions_as_their_references_score_a_hundred():
    text = "a man rides a red bike"
    assert bleu([text], [[text, "something else"]]).scores == pytest.approx([100] * 4)


def test_an_empty_caption_scores_nothing():
    assert bleu([""], [["a dog"]]).scores == (0, 0, 0, 0)


@pytest.mark.parametrize("references", [[], [[]], [["a"], ["b"]]])
def test_missing_references_are_refused(references):
    with pytest.raises(ValueError, match="needs a reference"):
        bleu(["a"], references)
