import pytest
import torch
from torch.autograd import gradcheck

from models.text.trees import (
    OTHER,
    ROOT,
    ConstituencyEncoder,
    DependencyEncoder,
    Forest,
    MeanEncoder,
    RecurrentEncoder,
    columns,
    merges,
    positions,
    relations,
)
from models.types import ParsedSentence, Span, Word

STUDENTS = [1, ROOT, 1, 1, 3]  # "Students ride bikes at night", section 3.2 of the paper
TREES = [STUDENTS, [ROOT], [2, 0, ROOT, 4, 2, 2, 5], [1, 2, ROOT], [ROOT, 0, 1, 2]]


def test_a_tree_in_numbers():
    kinds = ["nsubj", "root", "obj", "prep", "pobj"]
    words = (
        Word(f"{place}", Span(2 * place, 2 * place + 1), head=head, relation=kind)
        for place, (head, kind) in enumerate(zip(STUDENTS, kinds, strict=True))
    )
    tree = columns(ParsedSentence("0 1 2 3 4", tuple(words)), ("nsubj", "obj"), reach=5)
    heads, relations, positions, steps = tree.T.tolist()
    assert heads == STUDENTS
    assert relations == [1, 0, 2, 0, 0]
    assert positions == [1, 0, 6, 7, 6]
    assert steps == [3, 0, 1, 2, 1]


def padded(rows, fill):
    width = max(map(len, rows))
    return torch.tensor([row + [fill] * (width - len(row)) for row in rows])


def batch(hidden=3, kinds=4, seed=0):
    """Words, mask, heads and kinds of all TREES, in double precision."""
    generator = torch.Generator().manual_seed(seed)
    above = padded(TREES, 0)
    mask = padded([[1] * len(tree) for tree in TREES], 0).bool()
    x = torch.randn(*mask.shape, hidden, generator=generator, dtype=torch.float64)
    return x, mask, above, torch.randint(kinds, mask.shape, generator=generator)


def literal_dependencies(place, x, above, kinds, matrices):
    """Eq. 4 by recursion: h_i and ℓ(i)."""
    total, words = x[place], 1
    for child in (j for j, head in enumerate(above) if head == place):
        h, under = literal_dependencies(child, x, above, kinds, matrices)
        total = total + under * matrices[kinds[child]] @ h
        words += under
    return torch.tanh(total / words), words


def literal_phrases(place, x, above, W):
    """A head's phrase: right dependents merged, then left ones."""
    phrase = x[place]
    right = [j for j, head in enumerate(above) if head == place and j > place]
    left = [j for j, head in enumerate(above) if head == place and j < place]
    for child in right + left[::-1]:
        other = literal_phrases(child, x, above, W)
        pair = (phrase, other) if child > place else (other, phrase)
        phrase = torch.tanh(W @ torch.cat(pair))
    return phrase


def test_positions_count_from_the_head_outwards():
    assert positions(STUDENTS, reach=2) == [1, OTHER, 3, 4, 3]
    assert positions([3, 3, 3, ROOT, 3], reach=2) == [OTHER, 2, 1, OTHER, 3]


def test_an_unknown_relation_shares_its_number_with_the_others():
    words = tuple(
        Word(one, Span(n, n + 1), head=1, relation=one)
        for n, one in enumerate(["det", "root", "x"])
    )
    assert relations(ParsedSentence("abc", words), ["nsubj", "det"]) == [2, OTHER, OTHER]


def test_a_binary_tree_takes_what_is_right_first_and_a_phrase_when_it_is_whole():
    assert merges(STUDENTS) == [3, 0, 1, 2, 1]
    assert merges([ROOT]) == [0]


def test_levels_go_from_the_deepest_words_to_the_roots():
    _, mask, above, _ = batch()
    forest = Forest.of(above, mask)
    assert forest.roots.tolist() == [1, 5, 8, 15, 16]
    assert forest.levels[0].tolist() == [19]  # the end of the chain, three words below its root
    assert forest.words_under()[forest.roots].tolist() == [len(tree) for tree in TREES]


def test_a_sentence_worked_by_hand():
    encoder = DependencyEncoder(2, 1, torch.nn.Identity())
    encoder.compose.data = torch.tensor([[[1.0]], [[10.0]]])
    x = torch.tensor([[[1.0], [2.0], [4.0]]])
    above, kinds = torch.tensor([[1, ROOT, 1]]), torch.tensor([[0, 0, 1]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    assert encoder(x, mask, above, kinds).item() == pytest.approx((2 + 1 + 40) / 3)


def test_the_start_is_the_mean_of_the_words():
    x, mask, above, kinds = batch()
    encoder = DependencyEncoder(4, 3, torch.nn.Identity()).double()
    encoder.compose.data = torch.eye(3, dtype=torch.float64).repeat(4, 1, 1)
    means = torch.stack([own[real].mean(0) for own, real in zip(x, mask, strict=True)])
    torch.testing.assert_close(encoder(x, mask, above, kinds), means)


def test_levels_equal_the_literal_recursion_over_dependents():
    x, mask, above, kinds = batch()
    encoder = DependencyEncoder(4, 3, torch.tanh).double()
    expected = [
        literal_dependencies(tree.index(ROOT), own, tree, numbers, encoder.compose)[0]
        for tree, own, numbers in zip(TREES, x, kinds.tolist(), strict=True)
    ]
    torch.testing.assert_close(encoder(x, mask, above, kinds), torch.stack(expected))


def test_steps_equal_the_literal_recursion_over_phrases():
    x, mask, above, _ = batch()
    encoder = ConstituencyEncoder(3, torch.tanh).double()
    expected = [
        literal_phrases(tree.index(ROOT), own, tree, encoder.compose)
        for tree, own in zip(TREES, x, strict=True)
    ]
    found = encoder(x, mask, above, padded([merges(tree) for tree in TREES], 0))
    torch.testing.assert_close(found, torch.stack(expected))


def test_gradients_are_right():
    x, mask, above, kinds = batch(hidden=2)
    steps = padded([merges(tree) for tree in TREES], 0)
    dependency = DependencyEncoder(4, 2, torch.tanh).double()
    constituency = ConstituencyEncoder(2, torch.tanh).double()
    x.requires_grad_()
    assert gradcheck(lambda one: dependency(one, mask, above, kinds), (x,))
    assert gradcheck(lambda one: constituency(one, mask, above, steps), (x,))
    assert gradcheck(
        lambda W: torch.func.functional_call(dependency, {"compose": W}, (x, mask, above, kinds)),
        (dependency.compose.detach().requires_grad_(),),
    )


def test_two_hundred_words_in_a_chain_are_no_problem():
    above = [ROOT, *range(199)]
    assert merges(above) == [0, *range(199, 0, -1)]
    mask = torch.ones(1, 200, dtype=torch.bool)
    forest = Forest.of(torch.tensor([above]), mask)
    assert forest.words_under()[0] == len(forest.levels) == 200


MASK = torch.tensor([[True, True, True], [True, False, False]])


def random_words():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 2, generator=generator, dtype=torch.float64)


def test_a_mean_leaves_padding_out():
    x = torch.tensor([[[1.0], [2.0], [6.0]], [[5.0], [9.0], [9.0]]])
    assert MeanEncoder()(x, MASK).tolist() == [[3.0], [5.0]]


def test_the_last_state_equals_the_literal_loop():
    x, encoder = random_words(), RecurrentEncoder(2, torch.tanh).double()
    for sentence, real, found in zip(x, MASK, encoder(x, MASK), strict=True):
        state = torch.zeros(2, dtype=torch.float64)
        for word in sentence[real]:
            state = torch.tanh(encoder.again @ state + word)
        torch.testing.assert_close(found, state)


def test_order_counts():
    x, encoder = random_words(), RecurrentEncoder(2, torch.tanh).double()
    assert not torch.allclose(encoder(x, MASK)[0], encoder(x.flip(1), MASK)[0])


def test_its_gradient_is_right():
    encoder = RecurrentEncoder(2, torch.tanh).double()
    assert gradcheck(lambda x: encoder(x, MASK), (random_words().requires_grad_(),))
