import torch

from models.layers import Branch


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
