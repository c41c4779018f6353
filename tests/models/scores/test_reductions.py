import pytest
import torch
from torch.autograd import gradcheck

from models.scores.reductions import DotProducts, Maxima, RectifiedSums, maxima, sum_positive

REAL = torch.tensor([[True, True, True], [True, False, False]])


def random_products(dtype=torch.float64):
    make = torch.Generator().manual_seed(0)
    return torch.randn(5, 2, 3, generator=make, dtype=dtype)


def test_sums_worked_by_hand():
    products = torch.tensor([[[1.0, -2.0, 0.5], [-0.5, 9.0, 9.0]]])
    assert sum_positive(products, REAL).tolist() == [[1.5, 0.0]]
    assert sum_positive(products, REAL, 1.0).tolist() == [[3.5, 0.5]]


def test_maxima_worked_by_hand():
    products = torch.tensor([[[1.0, -2.0, 1.5], [-0.5, 9.0, 9.0]]])
    assert maxima(products, REAL).tolist() == [[1.5, -0.5]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shift", [0.0, 1.0, -0.3])
def test_sums_equal_the_literal_loop(shift, dtype):
    products = random_products(dtype)
    expected = [
        [sum(max(0.0, float(p) + shift) for p in row[k][REAL[k]]) for k in range(2)]
        for row in products
    ]
    found = sum_positive(products, REAL, shift)
    assert found.dtype == dtype
    torch.testing.assert_close(found, torch.tensor(expected, dtype=dtype))


def test_maxima_equal_the_literal_loop():
    products = random_products()
    expected = [[row[k][REAL[k]].max().item() for k in range(2)] for row in products]
    assert maxima(products, REAL).tolist() == expected


def test_gradients_are_right():
    products = random_products().requires_grad_()
    assert gradcheck(lambda x: RectifiedSums.apply(x, REAL, 0.4), (products,))
    assert gradcheck(lambda x: Maxima.apply(x, REAL), (products,))


def test_numbers_that_the_loops_do_not_know_give_the_same():
    products = random_products().bfloat16()
    single = products.float()
    torch.testing.assert_close(
        sum_positive(products, REAL, 1.0).float(), sum_positive(single, REAL, 1.0),
        atol=0.05, rtol=0.01,
    )  # fmt: skip
    assert torch.equal(maxima(products, REAL).float(), maxima(single, REAL))


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_gradients_of_products_are_those_of_torch(share):
    make = torch.Generator().manual_seed(0)
    rows, columns, outer = (
        torch.randn(*shape, generator=make) for shape in ((30, 8), (40, 8), (30, 40))
    )
    outer = outer * (torch.rand(30, 40, generator=make) < share)
    expected = rows.clone().requires_grad_(), columns.clone().requires_grad_()
    (expected[0] @ expected[1].T).backward(outer)
    found = rows.clone().requires_grad_(), columns.clone().requires_grad_()
    products = DotProducts.apply(*found)
    torch.testing.assert_close(products, rows @ columns.T)
    products.backward(outer)
    for ours, torchs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours.grad, torchs.grad)
