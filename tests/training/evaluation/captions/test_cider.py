import math
from collections import Counter

import numpy as np
import pytest

from training.evaluation.captions.cider import Cider


def texts(*sentences):
    return [sentence.split() for sentence in sentences]


def test_a_caption_scores_a_value_worked_by_hand():
    # Two photos: every word and n-gram but "a" is of one photo, so weighs log 2, and "a" weighs 0.
    # "a dog runs" against "a dog sits": dog is 1 of 2 words that weigh, "a dog" 1 of 2 bigrams,
    # no trigram is shared, and there are no 4-grams. Lengths are equal: no penalty.
    cider = Cider([texts("a dog sits"), texts("a cat")])
    expected = 10 * (1 / 2 + 1 / 2 + 0 + 0) / 4
    assert cider.scores(texts("a dog runs"), [0]) == pytest.approx([expected])


def test_another_length_pays_the_gaussian_penalty():
    # Against "x": one word of norm log 2 each, n-grams of no reference weigh log 2 too.
    # "x y z": product 1, norms √3 and 1; two words longer.
    cider = Cider([texts("x"), texts("q")])
    expected = 10 * math.exp(-(2**2) / (2 * 36)) / math.sqrt(3) / 4
    assert cider.scores(texts("x y z"), [0]) == pytest.approx([expected])


def test_repeating_a_word_of_the_reference_is_clipped():
    # "x x" counts x twice, clipped to 1: 1·1 / (2·1); its bigram is in no reference.
    cider = Cider([texts("x y"), texts("q")])
    assert cider.score(["x", "x"], 0) == pytest.approx(10 * (1 / (2 * math.sqrt(2))) / 4)


def test_a_score_is_the_mean_over_the_references():
    cider = Cider([texts("a b c d", "e f g h"), texts("q")])
    assert cider.score(list("abcd"), 0) == pytest.approx(10 * (1 + 0) / 2)


def test_an_ngram_of_every_photo_weighs_nothing():
    cider = Cider([texts("a dog"), texts("a dog")])
    assert cider.score(["a", "dog"], 0) == 0


def test_numbers_of_words_serve_as_words_do():
    sentences = [texts("a dog runs on grass", "one dog on the grass"), texts("a cat on a mat")]
    numbers = {
        word: at for at, word in enumerate(sorted({w for p in sentences for s in p for w in s}))
    }
    numbered = [[[numbers[word] for word in text] for text in photo] for photo in sentences]
    candidate = ["a", "dog", "on", "grass"]
    by_number = Cider(numbered).score([numbers[word] for word in candidate], 0)
    assert by_number == Cider(sentences).score(candidate, 0) > 0


def test_scores_equal_a_literal_loop_over_all_ngrams():
    words = np.random.default_rng(0).integers(0, 6, (30, 5, 9)).tolist()
    lengths = np.random.default_rng(1).integers(0, 10, (30, 5)).tolist()
    photos = [
        [text[: max(length, 1)] for text, length in zip(texts, cut, strict=True)]
        for texts, cut in zip(words, lengths, strict=True)
    ]
    candidates = [photo[0][: length[0]] for photo, length in zip(photos, lengths, strict=True)]
    owners = [(number + 1) % 30 for number in range(30)]
    expected = [
        literal(photos, one, photos[at]) for one, at in zip(candidates, owners, strict=True)
    ]
    assert Cider(photos).scores(candidates, owners) == pytest.approx(expected)


def literal(photos, candidate, references):
    """The formula as it stands, without an index."""

    def grams(text, n):
        return Counter(tuple(text[at : at + n]) for at in range(len(text) - n + 1))

    total = 0.0
    for n in (1, 2, 3, 4):
        seen = [set().union(*(grams(text, n) for text in photo)) for photo in photos]

        def vector(text, n=n, seen=seen):
            return {
                gram: count * math.log(len(photos) / max(1, sum(gram in one for one in seen)))
                for gram, count in grams(text, n).items()
            }

        for reference in references:
            c, s = vector(candidate), vector(reference)
            norms = [math.sqrt(sum(value**2 for value in one.values())) for one in (c, s)]
            if all(norms):
                dot = sum(min(value, s.get(gram, 0)) * s.get(gram, 0) for gram, value in c.items())
                penalty = math.exp(-((len(candidate) - len(reference)) ** 2) / 72)
                total += penalty * dot / math.prod(norms)
    return 10 * total / 4 / len(references)


def test_an_empty_caption_scores_nothing():
    assert Cider([texts("a dog"), texts("a cat")]).scores([[]], [0]).tolist() == [0]


@pytest.mark.parametrize("references", [[], [[]], [[["a"]], []]])
def test_a_photo_without_references_is_refused(references):
    with pytest.raises(ValueError, match="needs reference sentences"):
        Cider(references)


def test_candidates_without_photos_are_refused():
    with pytest.raises(ValueError, match="2 candidates and 1 photos"):
        Cider([texts("a"), texts("b")]).scores([["a"], ["b"]], [0])
