import numpy as np
import pytest
import torch

from models.scores.sentences import ANSWERS, links, pairs, unit_sums
from models.types import FragmentBag, Span


def text(*vectors, of_terms=0):
    spans = tuple(Span(2 * t, 2 * t + 1) for t in range(len(vectors)))
    return FragmentBag(torch.tensor(vectors), spans, ("w",) * len(vectors), of_terms)


def some(fragments, seed, dimension=6):
    generator = torch.Generator().manual_seed(seed)
    return text(*torch.randn(fragments, dimension, generator=generator).tolist())


def literal(query, sentence):
    """The cosine of two sums, number by number."""
    g = [sum(float(word[d]) for word in query.vectors) for d in range(query.vectors.shape[1])]
    h = [sum(float(word[d]) for word in sentence.vectors) for d in range(len(g))]
    lengths = sum(x * x for x in g) ** 0.5 * sum(x * x for x in h) ** 0.5
    return sum(x * y for x, y in zip(g, h, strict=True)) / lengths


def test_pairs_by_hand():
    # g = (3, 4) of length 5, h = (4, 3) of length 5.
    query, sentence = text([3.0, 0.0], [0.0, 4.0]), text([4.0, 1.0], [0.0, 2.0])
    assert pairs(query, sentence) == pytest.approx(np.array([[12, 0], [4, 8]]) / 25)
    first, second, third = links(sentence, query)
    assert (first.fragment, first.region, first.added, first.whole) == (0, 0, 12 / 25, 0.0)
    assert (second.fragment, second.region, second.added, second.whole) == (1, 1, 8 / 25, 0.0)
    assert (third.fragment, third.region, third.similarity) == (1, 0, 4 / 25)
    assert sum(link.similarity for link in (first, second, third)) == pytest.approx(24 / 25)


@pytest.mark.parametrize("seed", range(8))
def test_pairs_and_links_add_up_to_the_literal_cosine(seed):
    query, sentence = some(1 + seed % 5, seed), some(1 + seed % 7, 100 + seed)
    assert pairs(query, sentence).sum() == pytest.approx(literal(query, sentence))
    shown = links(sentence, query)
    assert sum(link.similarity for link in shown) == pytest.approx(literal(query, sentence))
    for fragment in range(len(query)):
        regions = [link.region for link in shown if link.fragment == fragment]
        assert 1 <= len(set(regions)) == len(regions) <= ANSWERS


def test_products_of_unit_sums_are_cosines():
    bags = [some(1 + seed % 4, seed) for seed in range(6)]
    vectors = np.concatenate([bag.vectors.numpy() for bag in bags])
    starts = np.cumsum([0, *(len(bag) for bag in bags)])[:-1]
    units = unit_sums(vectors, starts, 6)
    expected = [[literal(one, other) for other in bags] for one in bags]
    np.testing.assert_allclose(units @ units.T, expected, atol=1e-6)
    np.testing.assert_allclose((units @ units.T).diagonal(), 1, atol=1e-6)


def test_terms_of_a_catalogue_do_not_count():
    query, sentence = text([3.0, 0.0, 9.0], of_terms=1), text([4.0, 3.0, -5.0])
    assert pairs(query, sentence) == pytest.approx(np.array([[12 / 15]]))
    assert unit_sums(np.array([[3.0, 4.0, 9.0]], np.float32), np.array([0]), 2).tolist() == [
        pytest.approx([0.6, 0.8, 0.0])
    ]


def test_words_that_cancel_out_are_like_nothing():
    nothing = text([1.0, 0.0], [-1.0, 0.0])
    assert pairs(nothing, text([1.0, 0.0])).sum() == pytest.approx(0)
    units = unit_sums(np.array([[1e25, 1.0], [-1e25, -1.0]], np.float32), np.array([0]), 2)
    assert units.tolist() == [[0.0, 0.0]]
    assert unit_sums(np.array([[3e25, 4e25]], np.float32), np.array([0]), 2).tolist() == [
        pytest.approx([0.6, 0.8])
    ]
