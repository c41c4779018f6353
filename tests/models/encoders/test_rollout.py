"""Parts of groups of tokens in readings of attention, by hand."""

import pytest
import torch
from torch import nn

from models.encoders.blocks import TransformerBlock
from models.encoders.rollout import SelfAttention, TokenParts, mixing

EVERY = torch.eye(5, dtype=torch.float64).expand(2, 5, 5)  # each token a group


def make_block(seed):
    """A random block of two heads and scales, in double precision."""
    torch.manual_seed(seed)
    linear = [nn.Linear(6, 6).double() for _ in range(4)]
    mlp = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6)).double()
    norms = [nn.LayerNorm(6).double() for _ in range(2)]
    return TransformerBlock(norms[0], *linear, 2, norms[1], mlp, lambda x: 2 * x, lambda x: x / 2)


@pytest.fixture
def blocks():
    return [make_block(seed) for seed in range(3)]


@pytest.fixture
def h():
    return torch.randn(2, 5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def padding(count):
    """The bias of attention without the last tokens."""
    bias = torch.zeros(2, 1, 1, 5, dtype=torch.float64)
    bias[..., 5 - count :] = -torch.inf
    return bias


def follow(blocks, h, groups, bias=None):
    parts = TokenParts(groups, h)
    for block in blocks:
        h, parts = parts.through(SelfAttention.of(block, h, bias), h)
    return h, parts


@torch.inference_mode()
@pytest.mark.parametrize("bias", [None, padding(2)])
def test_states_are_the_blocks_own(blocks, h, bias):
    expected = h
    for block in blocks:
        expected = block(expected, bias)
    torch.testing.assert_close(follow(blocks, h, EVERY, bias)[0], expected)


@torch.inference_mode()
@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("bias", [None, padding(2)])
def test_all_tokens_together_have_all_that_is_read_but_for_constants(blocks, h, depth, bias):
    for block in blocks:
        for constant in (block.out.bias, block.value.bias, block.norm1.bias):
            nn.init.zeros_(constant)
    before, (reader,) = blocks[:depth], blocks[2:]
    h, parts = follow(before, h, EVERY, bias)
    attention = SelfAttention.of(reader, h, bias)
    read = parts.read(reader, reader.norm1, h, attention.weights[:, :, 0])
    torch.testing.assert_close(read.sum(1), attention.output()[:, 0])


@torch.inference_mode()
def test_a_group_has_the_parts_of_its_tokens(blocks, h):
    groups = torch.tensor([[[1.0, 0.5, 0, 0, 0], [0, 0.5, 1, 1, 1]]], dtype=torch.float64)
    weights = torch.rand(2, 2, 5, dtype=torch.float64)
    alone, together = (
        follow(blocks, h, shares)[1].pool(weights) for shares in (EVERY, groups.expand(2, -1, -1))
    )  # (2, 5, 2, 6), (2, 2, 2, 6)
    torch.testing.assert_close(together[:, 0], alone[:, 0] + alone[:, 1] / 2)
    torch.testing.assert_close(together.sum(1), alone.sum(1))


@torch.inference_mode()
def test_padding_has_no_part_and_changes_none(blocks, h):
    states, padded = follow(blocks, h, EVERY, padding(2))
    short, alone = follow(blocks, h[:, :3], EVERY[:, :3, :3])
    torch.testing.assert_close(states[:, :3], short)
    weights = torch.rand(2, 4, 3, dtype=torch.float64)
    parts = padded.pool(torch.cat([weights, torch.zeros(2, 4, 2)], -1))  # (2, 5, 4, 6)
    torch.testing.assert_close(parts[:, :3], alone.pool(weights))
    assert not parts[:, 3:].any()


@torch.inference_mode()
def test_what_the_last_block_brought_is_exact(blocks, h):
    """By a literal loop, for an MLP of zeros."""
    (block, *_) = blocks
    nn.init.zeros_(block.mlp[2].weight)
    nn.init.zeros_(block.mlp[2].bias)
    _, parts = follow([block], h, EVERY)
    attention = SelfAttention.of(block, h, None)
    weights = torch.rand(2, 1, 5, dtype=torch.float64)
    expected = torch.zeros(2, 5, 1, 6, dtype=torch.float64)
    for photo in range(2):
        for t in range(5):
            for q in range(5):
                heads = [
                    attention.weights[photo, head, q, t] * attention.values[photo, head, t]
                    for head in range(2)
                ]
                added = 2 * block.out.weight @ torch.cat(heads) + h[photo, t] * (q == t)
                expected[photo, t, 0] += weights[photo, 0, q] * added
    torch.testing.assert_close(parts.pool(weights), expected)


def test_a_share_is_the_length_of_what_a_token_adds():
    """By a literal loop over states, tokens and heads."""
    generator = torch.Generator().manual_seed(2)
    attention = torch.rand(1, 2, 3, 3, generator=generator).softmax(-1)
    values = torch.randn(1, 3, 2, 4, generator=generator)
    h = torch.randn(1, 3, 4, generator=generator)
    expected = torch.zeros(3, 3)
    for q in range(3):
        for t in range(3):
            added = h[0, t] * (q == t)
            for head in range(2):
                added = added + attention[0, head, q, t] * values[0, t, head]
            expected[q, t] = added.norm()
    expected /= expected.sum(1, keepdim=True)
    torch.testing.assert_close(mixing(attention, values, h)[0], expected)


@torch.inference_mode()
def test_shares_add_up_to_one_and_stay_where_attention_brings_nothing(blocks, h):
    shares = follow(blocks, h, EVERY)[1].shares
    assert shares.min() >= 0
    torch.testing.assert_close(shares.sum(1), torch.ones(2, 5, dtype=torch.float64))
    assert shares.diagonal(dim1=1, dim2=2).max() < 0.9  # attention mixes
    for block in blocks:
        nn.init.zeros_(block.out.weight)
    torch.testing.assert_close(follow(blocks, h, EVERY)[1].shares, EVERY)
