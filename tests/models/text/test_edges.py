import pytest
import torch

from models.text.edges import (
    ALONE,
    DROPPED,
    EdgeEncoder,
    alone,
    bigrams,
    dependencies,
    join_edges,
    places,
)
from models.types import PaddedBags, ParsedSentence, Span, Word

RELATIONS = ("amod", "nsubj")
ROOT = (ALONE, 0)


def sentence(*words):
    """A tree by hand: (text, head, relation) a word, with spaces between."""
    text, parsed = " ".join(one for one, _, _ in words), []
    for one, head, relation in words:
        start = parsed[-1].span.end + 1 if parsed else 0
        parsed.append(Word(one, Span(start, start + len(one)), head=head, relation=relation))
    return ParsedSentence(text, tuple(parsed))


DOG = sentence(("a", 2, "det"), ("black", 2, "amod"), ("dog", 3, "nsubj"), ("runs", -1, "root"))
CHILD = sentence(("runs", -1, "root"), ("child", 0, "nsubj"))


def encoder(dtype=torch.float64, dropout=0.0, *, shared=True):
    torch.manual_seed(0)
    sizes = {"words": 4, "relations": 3, "embedding": 6}
    made = EdgeEncoder(**sizes, dropout=dropout, shared=shared).to(dtype)
    torch.nn.init.normal_(made.bias, std=0.5)
    torch.nn.init.normal_(made.own, std=0.5)
    return made


def literal(made, vectors, edges):
    """Eq. 1, one relation at a time, without dropped ones."""
    fragments = []
    for word, (head, relation) in enumerate(edges):
        if relation == DROPPED:
            continue
        governor = torch.zeros_like(vectors[word]) if head == ALONE else vectors[head]
        shared = 0 if made.shared is None else made.shared
        W_R, b_R = (shared + made.own[relation]).T, made.bias[relation]
        fragments.append((W_R @ torch.cat([governor, vectors[word]]) + b_R).clamp(min=0))
    return torch.stack(fragments)


def inputs(sentences, edges):
    vectors = [torch.randn(len(one.words), 4, dtype=torch.float64) for one in sentences]
    return vectors, PaddedBags.of(join_edges(vectors, edges))


def test_a_word_depends_on_its_head_and_a_relation_that_is_not_listed_makes_no_fragment():
    assert dependencies(DOG, RELATIONS) == [(2, DROPPED), (2, 1), (3, 2), ROOT]


def test_the_root_stands_alone_whatever_is_listed():
    assert dependencies(CHILD, ()) == [ROOT, (0, DROPPED)]


def test_a_bigram_is_a_word_with_the_one_before_it():
    assert bigrams(DOG) == [ROOT, (0, 0), (1, 0), (2, 0)]
    assert alone(DOG) == [ROOT] * 4


def test_a_relation_reads_from_its_dependent_to_its_head_and_lies_at_the_dependent():
    assert places(DOG, dependencies(DOG, RELATIONS)) == [
        ("black → dog", Span(2, 7)),
        ("dog → runs", Span(8, 11)),
        ("runs", Span(12, 16)),
    ]
    assert places(CHILD, dependencies(CHILD, RELATIONS))[1] == ("child → runs", Span(5, 10))
    assert [label for label, _ in places(DOG, bigrams(DOG))] == [
        "a", "a black", "black dog", "dog runs"
    ]  # fmt: skip
    assert [label for label, _ in places(DOG, alone(DOG))] == ["a", "black", "dog", "runs"]


def test_a_fragment_worked_by_hand():
    made = EdgeEncoder(words=1, relations=2, embedding=2, dropout=0.0, shared=False)
    with torch.no_grad():
        made.own.copy_(torch.tensor([[[9.0, 9], [1, -1]], [[2.0, 0], [3, 1]]]))
        made.bias.copy_(torch.tensor([[0.5, 0], [-1.0, -6]]))
    vectors = torch.tensor([[[4.0], [5.0]]])
    s = made(vectors, torch.tensor([[ALONE, 0]]), torch.tensor([[0, 1]]))
    # The first word alone: [4 + 0.5, −4]₊; the second under it: [2·4 + 3·5 − 1, 5 − 6]₊.
    assert s.tolist() == [[[4.5, 0.0], [22.0, 0.0]]]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", [lambda one: dependencies(one, RELATIONS), bigrams, alone])
def test_bags_equal_the_literal_loop_with_dropped_relations_left_out(kind, shared):
    made, edges = encoder(shared=shared).eval(), [kind(DOG), kind(CHILD)]
    vectors, batch = inputs([DOG, CHILD], edges)
    bags = made.bags(batch.vectors, batch.mask)
    for own, real, *given in zip(bags.vectors, bags.mask, vectors, edges, strict=True):
        expected = literal(made, *given)
        assert expected.count_nonzero() > 2
        assert real.tolist() == [True] * len(expected) + [False] * (len(real) - len(expected))
        torch.testing.assert_close(own[real], expected)


def test_a_bag_has_a_fragment_for_each_place_that_is_read():
    made, edges = encoder(), [dependencies(DOG, ()), dependencies(CHILD, RELATIONS)]
    _, batch = inputs([DOG, CHILD], edges)
    counts = made.bags(batch.vectors, batch.mask).mask.sum(1).tolist()
    assert counts == [len(places(DOG, edges[0])), len(places(CHILD, edges[1]))] == [1, 2]


def test_each_relation_has_weights_of_its_own():
    made = encoder().eval()
    vectors, heads = torch.ones(1, 2, 4, dtype=torch.float64), torch.tensor([[1, ALONE]])
    as_amod, as_nsubj = (made(vectors, heads, torch.tensor([[one, 0]])) for one in (1, 2))
    assert not torch.allclose(as_amod[0, 0], as_nsubj[0, 0])
    assert torch.equal(as_amod[0, 1], as_nsubj[0, 1])


def test_gradients_are_those_of_finite_differences():
    made, edges = encoder(), [dependencies(DOG, RELATIONS), dependencies(CHILD, RELATIONS)]
    _, batch = inputs([DOG, CHILD], edges)
    names, weights = zip(*made.named_parameters(), strict=True)

    def fragments(*values):
        heads, relations = batch.vectors[..., -2:].long().unbind(-1)
        relations = relations.masked_fill(~batch.mask, DROPPED)
        given = dict(zip(names, values, strict=True))
        vectors = batch.vectors[..., :-2]
        return torch.func.functional_call(made, given, (vectors, heads, relations))

    assert torch.autograd.gradcheck(fragments, weights)


def test_dropout_stops_outside_training():
    made = encoder(dropout=0.5)
    _, batch = inputs([DOG], [alone(DOG)])
    one, other = (made.bags(batch.vectors, batch.mask).vectors for _ in range(2))
    assert not torch.equal(one, other)
    made.eval()
    one, other = (made.bags(batch.vectors, batch.mask).vectors for _ in range(2))
    assert torch.equal(one, other)
