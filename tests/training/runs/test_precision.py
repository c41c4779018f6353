"""Tests of networks' precision of products."""

import pytest
import torch

from training.runs import precision


@pytest.mark.parametrize(
    ("asked", "instructions", "products"),
    [
        ("bfloat16", True, torch.bfloat16),
        ("bfloat16", False, torch.float32),  # bfloat16 by emulation is many times slower
        ("float32", True, torch.float32),
    ],
)
def test_products_are_bfloat16_where_a_processor_has_instructions(
    asked: str, instructions: bool, products: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "multiplies_halves", lambda device: instructions)
    with precision.half_precision("cpu", asked):
        assert (torch.ones(2, 3) @ torch.ones(3, 2)).dtype == products


def test_gpus_multiply_bfloat16() -> None:
    assert precision.multiplies_halves("cuda:0")
