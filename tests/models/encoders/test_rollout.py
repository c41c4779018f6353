"""Shares of groups go through blocks by what tokens add to states."""

import pytest
import torch
from torch import nn

from models.encoders.blocks import TransformerBlock
from models.encoders.rollout import mixing, roll


@pytest.fixture
def block():
    """A random block of two heads, in double precision."""
    torch.manual_seed(0)
    linear = [nn.Linear(6, 6).double() for _ in range(4)]
    mlp = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6)).double()
    norms = [nn.LayerNorm(6).double() for _ in range(2)]
    return TransformerBlock(norms[0], *linear, 2, norms[1], mlp, nn.Identity(), lambda x: 0.5 * x)


@pytest.fixture
def h():
    return torch.randn(2, 5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


EVERY = torch.eye(5, dtype=torch.float64).expand(2, 5, 5)  # each token a group


@torch.inference_mode()
def test_states_are_the_blocks_own(block, h):
    bias = torch.zeros(2, 1, 1, 5, dtype=torch.float64)
    bias[1, ..., 3:] = -torch.inf
    torch.testing.assert_close(roll(block, h, bias, EVERY)[0], block(h, bias))
    torch.testing.assert_close(roll(block, h, None, EVERY)[0], block(h))


@torch.inference_mode()
def test_shares_of_all_tokens_add_up_to_one(block, h):
    shares = roll(block, h, None, EVERY)[1]
    assert shares.min() >= 0
    torch.testing.assert_close(shares.sum(1), torch.ones(2, 5, dtype=torch.float64))
    assert shares.diagonal(dim1=1, dim2=2).max() < 0.99  # attention mixes


@torch.inference_mode()
def test_a_group_has_the_shares_of_its_tokens(block, h):
    alone = roll(block, h, None, EVERY)[1]
    groups = torch.tensor([[[1.0, 0.5, 0, 0, 0], [0, 0.5, 1, 1, 1]]], dtype=torch.float64)
    together = roll(block, h, None, groups.expand(2, -1, -1))[1]
    torch.testing.assert_close(together[:, 0], alone[:, 0] + alone[:, 1] / 2)
    torch.testing.assert_close(together.sum(1), torch.ones(2, 5, dtype=torch.float64))


@torch.inference_mode()
def test_shares_stay_where_attention_brings_nothing(block, h):
    nn.init.zeros_(block.out.weight)
    torch.testing.assert_close(roll(block, h, None, EVERY)[1], EVERY)


@torch.inference_mode()
def test_padding_has_no_share_and_changes_none(block, h):
    bias = torch.zeros(2, 1, 1, 5, dtype=torch.float64)
    bias[..., 3:] = -torch.inf
    padded = roll(block, h, bias, EVERY)[1][:, :, :3]
    assert not padded[:, 3:].any()
    alone = roll(block, h[:, :3], None, EVERY[:, :3, :3])[1]
    torch.testing.assert_close(padded[:, :3], alone)


def test_a_share_is_the_length_of_what_a_token_adds():
    """By a literal loop over states, tokens and heads."""
    generator = torch.Generator().manual_seed(2)
    attention = torch.rand(1, 2, 3, 3, generator=generator).softmax(-1)
    values = torch.randn(1, 3, 2, 4, generator=generator)
    h = torch.randn(1, 3, 4, generator=generator)
    expected = torch.zeros(3, 3)
    for q in range(3):
        for t in range(3):
            added = (h[0, t] - h[0].mean(0)) * (q == t)
            for head in range(2):
                value = values[0, t, head] - values[0, :, head].mean(0)
                added = added + attention[0, head, q, t] * value
            expected[q, t] = added.norm()
    expected /= expected.sum(1, keepdim=True)
    seen = torch.ones(1, 3)
    torch.testing.assert_close(mixing(attention, values, h, seen)[0], expected)


def test_tokens_without_differences_have_no_shares():
    alike = mixing(
        torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 4), torch.ones(1, 1, 4), torch.ones(1, 1)
    )
    assert alike.tolist() == [[[0.0]]]
