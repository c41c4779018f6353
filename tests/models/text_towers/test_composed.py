import pytest
import torch

from models.text.trees import TREES
from models.text_towers.composed import SEQUENCES, Config, Model
from models.types import ParsedSentence, Span, Word

TEXTS = ["Students ride bikes at night", "bikes ride"]
PARSED = {
    TEXTS[0]: [(1, "nsubj"), (-1, "root"), (1, "obj"), (1, "prep"), (3, "pobj")],
    TEXTS[1]: [(1, "nsubj"), (-1, "root")],
}
RELATIONS = ("nsubj", "obj")


def parsed(texts):
    """Trees by hand, in the paper's relations."""
    return [
        ParsedSentence(
            text,
            tuple(
                Word(word, Span(text.index(word), text.index(word) + len(word)), "", "", *edge)
                for word, edge in zip(text.split(), PARSED[text], strict=True)
            ),
        )
        for text in texts
    ]


@pytest.fixture(autouse=True)
def trees(monkeypatch):
    monkeypatch.setattr("models.text.readers.parse_trees", parsed)
    monkeypatch.setattr("models.text.readers.parser_key", lambda: "by hand")


def built(**options):
    torch.manual_seed(0)
    return Model(Config(relations=RELATIONS, embedding=8, **options)).eval()


@pytest.mark.parametrize("composition", [*SEQUENCES, *TREES])
def test_a_sentence_is_one_vector_whatever_stands_beside_it(composition, embed):
    tower = built(composition=composition)
    both, alone = embed(tower, TEXTS), embed(tower, TEXTS[1:])
    assert [bag.vectors.shape for bag in both] == [(1, 8), (1, 8)]
    torch.testing.assert_close(both[1].vectors, alone[0].vectors, rtol=1e-3, atol=1e-4)
    assert (both[0].labels, both[0].places) == (("whole sentence",), (Span(0, 28),))


@pytest.mark.parametrize("unit", [True, False])
def test_vectors_have_length_one_only_where_wanted(unit, embed):
    (bag,) = embed(built(unit=unit), TEXTS[:1])
    assert (float(bag.vectors.norm()) == pytest.approx(1, abs=1e-5)) == unit


@pytest.mark.parametrize("composition", ["position", "relation"])
def test_a_tree_starts_as_the_bag_of_its_words(composition, embed):
    tower, bag = (built(composition=one, activation="identity") for one in (composition, "average"))
    for one, other in zip(embed(tower, TEXTS), embed(bag, TEXTS), strict=True):
        assert torch.nn.functional.cosine_similarity(one.vectors, other.vectors) > 0.9


def test_swapped_roles_are_told_apart_by_trees_and_not_by_a_bag(embed, monkeypatch):
    monkeypatch.setitem(PARSED, "ride bikes", [(1, "nsubj"), (-1, "root")])
    texts = ["bikes ride", "ride bikes"]
    tree, swapped = embed(built(composition="relation"), texts)
    bag, same = embed(built(composition="average"), texts)
    assert not torch.allclose(tree.vectors, swapped.vectors, atol=1e-3)
    assert torch.allclose(bag.vectors, same.vectors, atol=1e-5)


def test_bags_and_sequences_share_word_vectors_and_trees_share_one_key():
    keys = {built(composition=composition).reader.key() for composition in TREES}
    assert len(keys) == 1
    assert {built(composition=one).reader.key() for one in SEQUENCES} == {'["word vectors"]'}


@pytest.mark.parametrize("wrong", [{"composition": "ccg"}, {"activation": "gelu"}])
def test_an_unknown_option_is_refused(wrong):
    with pytest.raises(ValueError, match="there are"):
        built(**wrong)
