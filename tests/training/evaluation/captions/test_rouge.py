import pytest

from training.evaluation.captions.rouge import common, rouge


def texts(*sentences):
    return [sentence.split() for sentence in sentences]


def test_the_longest_common_subsequence_may_have_gaps():
    assert common(list("abcbdab"), list("bdcaba")) == 4


def test_rouge_equals_a_value_worked_by_hand():
    # "a dog runs" and "a black dog runs fast": 3 in common, P = 1, R = 3/5.
    expected = 100 * (1 + 1.44) * 1 * 0.6 / (0.6 + 1.44 * 1)
    assert rouge(texts("a dog runs"), [texts("a black dog runs fast")]) == pytest.approx(expected)


def test_precision_and_recall_are_each_the_best_of_all_references():
    # P = 2/2 from the long reference, R = 1/1 from the short one.
    assert rouge(texts("a dog"), [texts("x a y dog", "a")]) == pytest.approx(100)


def test_captions_count_alike_and_an_empty_one_scores_nothing():
    assert rouge([["a"], []], [[["a"]], [["a"]]]) == pytest.approx(50)
