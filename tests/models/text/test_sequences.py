import torch
from torch.autograd import gradcheck

from models.text.trees import MeanEncoder, RecurrentEncoder

MASK = torch.tensor([[True, True, True], [True, False, False]])


def words():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 2, generator=generator, dtype=torch.float64)


def test_a_mean_leaves_padding_out():
    x = torch.tensor([[[1.0], [2.0], [6.0]], [[5.0], [9.0], [9.0]]])
    assert MeanEncoder()(x, MASK).tolist() == [[3.0], [5.0]]


def test_the_last_state_equals_the_literal_loop():
    x, encoder = words(), RecurrentEncoder(2, torch.tanh).double()
    for sentence, real, found in zip(x, MASK, encoder(x, MASK), strict=True):
        state = torch.zeros(2, dtype=torch.float64)
        for word in sentence[real]:
            state = torch.tanh(encoder.again @ state + word)
        torch.testing.assert_close(found, state)


def test_order_counts():
    x, encoder = words(), RecurrentEncoder(2, torch.tanh).double()
    assert not torch.allclose(encoder(x, MASK)[0], encoder(x.flip(1), MASK)[0])


def test_its_gradient_is_right():
    encoder = RecurrentEncoder(2, torch.tanh).double()
    assert gradcheck(lambda x: encoder(x, MASK), (words().requires_grad_(),))
