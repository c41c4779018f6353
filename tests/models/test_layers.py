import pytest
import torch

from models.layers import PrincipalComponents


def stretched():
    generator = torch.Generator().manual_seed(0)
    return 3 + torch.randn(500, 4, generator=generator) * torch.tensor([1.0, 9.0, 0.0, 4.0])


def test_the_directions_of_most_variance_are_kept():
    x, components = stretched(), PrincipalComponents(4, 2, whiten=False)
    components.fit(x)
    found, expected = components(x), x[:, [1, 3]]
    torch.testing.assert_close(found.var(0, correction=0).mean(), torch.tensor(1.0))
    ratio = found.std(0) / expected.std(0)  # one scale for all, within what x is correlated
    torch.testing.assert_close(ratio[0], ratio[1], rtol=0.02, atol=0)
    assert torch.corrcoef(torch.cat([found, expected], 1).T)[0, 2].abs() > 0.99


def test_whitened_components_have_no_correlation_and_variance_one():
    x, components = stretched(), PrincipalComponents(4, 3, whiten=True)
    components.fit(x)
    covariance = components(x).T.cov(correction=0)
    torch.testing.assert_close(covariance, torch.eye(3), atol=1e-4, rtol=0)


def test_missing_variance_stays_zero():
    x, components = stretched(), PrincipalComponents(4, 4, whiten=True)
    components.fit(x)
    assert not components(x + 1)[:, 3].any()


def test_the_share_along_the_components_is_that_of_a_literal_projection():
    x, components = stretched(), PrincipalComponents(4, 2, whiten=False)
    components.fit(x)
    axes = [axis / axis.norm() for axis in components.axes.T]
    for row, share in zip(x[:5], components.share(x[:5]), strict=True):
        centred = row - components.mean
        along = sum(float(centred @ axis) ** 2 for axis in axes)
        assert float(share) == pytest.approx(along / float(centred @ centred), rel=1e-4)
    assert components.share(components.mean + components.axes[:, 0]) == pytest.approx(1)
    assert components.share(components.mean) == 0  # has no length
