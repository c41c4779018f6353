import math

import pytest
import torch
from torch.autograd import functional

from models.text.fisher import FisherVectors, HybridMixture, distinct, median_by_weight
from models.types import PaddedBags


def points():
    """Two clouds: dimension 0 is Gaussian in both, dimension 1 Laplacian in both."""
    torch.manual_seed(0)
    gaussian, laplacian = torch.randn(4000), torch.distributions.Laplace(0.0, 0.5).sample((4000,))
    shift = torch.tensor([-5.0, 5.0]).repeat_interleave(2000)
    return torch.stack([gaussian + shift, laplacian + shift], 1)


def fitted():
    mixture = HybridMixture(2, 2)
    mixture.fit(points(), 10)
    return mixture


def test_a_mixture_finds_clouds_and_their_shapes():
    mixture = fitted()
    torch.testing.assert_close(mixture.weight, torch.tensor([0.5, 0.5]), atol=0.01, rtol=0)
    where = torch.tensor([[-5.0, -5.0], [5.0, 5.0]])
    torch.testing.assert_close(mixture.centre, where, atol=0.1, rtol=0)
    wide = torch.tensor([[1.0, 0.5], [1.0, 0.5]])
    torch.testing.assert_close(mixture.scale, wide, atol=0.1, rtol=0)
    assert mixture.laplacian.tolist() == [[False, True], [False, True]]


def test_every_round_makes_the_points_likelier():
    likelihoods = [HybridMixture(3, 2).fit(points(), rounds) for rounds in (1, 2, 4, 8)]
    assert likelihoods == sorted(likelihoods)


def test_densities_are_those_of_torch():
    mixture, x = fitted(), points()[:5]
    expected = []
    for k in range(2):
        (mu, m), (sigma, s) = mixture.centre[k], mixture.scale[k]
        shapes = torch.distributions.Normal(mu, sigma), torch.distributions.Laplace(m, s)
        logs = [shape.log_prob(column) for shape, column in zip(shapes, x.T, strict=True)]
        expected.append(mixture.weight[k].log() + logs[0] + logs[1])
    torch.testing.assert_close(mixture.joint(mixture.deviations(x)), torch.stack(expected, 1))


def test_scores_are_scaled_gradients_of_the_log_likelihood():
    mixture, x = fitted(), torch.tensor([[0.3, -0.4]])

    def likelihood(centre, scale):
        mixture.centre, mixture.scale = centre, scale
        return mixture.joint(mixture.deviations(x)).logsumexp(1).sum()

    centre, scale = mixture.centre, mixture.scale
    gradients = functional.jacobian(likelihood, (centre, scale))
    mixture.centre, mixture.scale = centre, scale
    information = mixture.weight[:, None] / scale.square()  # a Gaussian's scale has twice it
    expected = [
        gradients[0] / information.sqrt(),
        gradients[1] / (information * torch.where(mixture.laplacian, 1, 2)).sqrt(),
    ]
    torch.testing.assert_close(mixture.scores(x)[0], torch.cat(expected, 1).flatten())


def test_half_of_the_shares_lie_below_a_weighted_median():
    x = torch.tensor([[4.0], [1.0], [2.0], [3.0]])
    share = torch.tensor([0.7, 0.1, 0.1, 0.1])
    assert median_by_weight(x, torch.full((4,), 0.25), x.argsort(0)).item() == 2.5
    assert 3.0 <= median_by_weight(x, share, x.argsort(0)).item() <= 4.0


def test_a_fisher_vector_is_rooted_and_of_length_one():
    text = FisherVectors(words=2, axes=2, components=2, features=3)
    text.mixture.fit(points(), 5)
    words = points()[::500]
    total = text.mixture.scores(words).sum(0)
    expected = total.sign() * total.abs().sqrt() / math.sqrt(total.abs().sum())
    found = text.improve(words, torch.tensor([len(words)]))
    torch.testing.assert_close(found[0], expected)


def test_padding_adds_nothing_to_a_fisher_vector():
    sentences = list(points()[::10].split([1, 3, 2, 4] * 40))
    text = FisherVectors(words=2, axes=2, components=2, features=3)
    text.fit(sentences)
    together, alone = PaddedBags.of(sentences[:4]), PaddedBags.of(sentences[:1])
    torch.testing.assert_close(
        text(together.vectors, together.mask)[:1],
        text(alone.vectors, alone.mask),
        atol=1e-5,
        rtol=1e-4,
    )


def test_a_word_counts_once_however_often_it_is_said():
    sentences = [torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 2.0]])]
    assert distinct(sentences).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_one_point_is_no_component_of_scale_zero():
    mixture = HybridMixture(2, 1)
    assert math.isfinite(mixture.fit(torch.tensor([[0.0], [0.0], [0.0], [1.0]]), 3))
    assert mixture.scores(torch.tensor([[0.0], [5.0]])).isfinite().all()
    assert mixture.scale.min().item() == pytest.approx(0.01)
