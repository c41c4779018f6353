import pytest
import torch

from models.layers import Branch, PrincipalComponents


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


def test_a_linear_branch_is_one_map_of_unit_length():
    branch = Branch(3, 0, 2, 0.5, 0.5).eval()
    (linear,) = (layer for layer in branch.layers if isinstance(layer, torch.nn.Linear))
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]]))
        linear.bias.zero_()
    torch.testing.assert_close(branch(torch.tensor([[1.0, 1.0, 9.0]])), torch.tensor([[0.6, 0.8]]))


def test_a_non_linear_branch_normalises_its_batch_and_then_its_length():
    torch.manual_seed(0)
    branch = Branch(3, 8, 4, 0.0, 0.0).train()
    x = 5 + torch.randn(64, 3)
    normalised = branch.layers(x)
    torch.testing.assert_close(normalised.mean(0), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(normalised.std(0, correction=0), torch.ones(4), atol=1e-2, rtol=0)
    torch.testing.assert_close(branch(x).norm(dim=1), torch.ones(64))


def test_only_a_non_linear_branch_bends():
    torch.manual_seed(0)
    x = torch.randn(5, 3)
    for hidden, straight in ((0, True), (8, False)):
        layers = Branch(3, hidden, 4, 0.0, 0.0).eval().layers
        middle = (layers(x) + layers(-x)) / 2
        assert torch.allclose(middle, layers(torch.zeros(1, 3)).expand(5, 4), atol=1e-5) == straight
