import pytest
import torch

from models.scores.scoring import SCORES
from models.types import PaddedBags


def bag(*vectors, real=None):
    """A bag of vectors, the first `real` of them real."""
    mask = torch.arange(len(vectors)) < (len(vectors) if real is None else real)
    return PaddedBags(torch.tensor(vectors)[None], mask[None])


def random_bags(count, longest, dimension=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    sizes = [1 + (3 * i + seed) % longest for i in range(count)]
    return PaddedBags.of(
        [torch.randn(F, dimension, dtype=torch.float64, generator=generator) for F in sizes]
    )


def literal(images, sentences):
    """Eq. 8, region by region and word by word."""
    scores = torch.zeros(len(images), len(sentences), dtype=torch.float64)
    for k in range(len(images)):
        for el in range(len(sentences)):
            for s, real in zip(sentences.vectors[el], sentences.mask[el], strict=True):
                if real:
                    regions = images.vectors[k][images.mask[k]]
                    scores[k, el] += max(float(v @ s) for v in regions)
    return scores


def test_each_word_gives_its_best_region():
    image = bag([1.0, 0.0], [0.0, 2.0])
    sentence = bag([3.0, 1.0], [1.0, 1.0], [-1.0, -1.0])
    assert SCORES["sum_of_max"](image, sentence).tolist() == [[3.0 + 2.0 - 1.0]]


def test_padded_region_never_wins():
    image = bag([-1.0, 0.0], [0.0, 0.0], real=1)
    assert SCORES["sum_of_max"](image, bag([1.0, 0.0])).tolist() == [[-1.0]]


def test_padded_word_adds_nothing():
    image = bag([2.0, 0.0])
    assert SCORES["sum_of_max"](image, bag([1.0, 0.0], [5.0, 5.0], real=1)).tolist() == [[2.0]]


def test_scores_equal_the_literal_loop():
    images, sentences = random_bags(3, 5), random_bags(4, 6, seed=1)
    scores = SCORES["sum_of_max"](images, sentences)
    assert scores.shape == (3, 4)
    torch.testing.assert_close(scores, literal(images, sentences))


def test_gradients_are_those_of_finite_differences():
    images, sentences = random_bags(2, 3), random_bags(2, 4, seed=1)

    def score(v, s):
        return SCORES["sum_of_max"](PaddedBags(v, images.mask), PaddedBags(s, sentences.mask))

    inputs = (images.vectors.requires_grad_(), sentences.vectors.requires_grad_())
    assert torch.autograd.gradcheck(score, inputs)


def literal_mean(images, sentences):
    """Eq. 6 of Karpathy et al. 2014, pair by pair."""
    scores = torch.zeros(len(images), len(sentences), dtype=torch.float64)
    for k in range(len(images)):
        for el in range(len(sentences)):
            g_k = images.vectors[k][images.mask[k]]
            g_l = sentences.vectors[el][sentences.mask[el]]
            total = sum(max(0.0, float(v @ s)) for v in g_k for s in g_l)
            scores[k, el] = total / (len(g_k) * (len(g_l) + 5))
    return scores


def test_mean_of_positive_equals_the_literal_sum():
    images, sentences = random_bags(4, 6, seed=1), random_bags(5, 7, seed=2)
    torch.testing.assert_close(
        SCORES["mean_of_positive"](images, sentences), literal_mean(images, sentences)
    )


def test_mean_of_positive_worked_by_hand():
    # Products 1, -3 and 2, 0: three in 2 · (2 + 5).
    image, sentence = bag([1.0, 0.0], [0.0, 1.0]), bag([1.0, -3.0], [2.0, 0.0])
    assert SCORES["mean_of_positive"](image, sentence).item() == pytest.approx(3 / 14)
