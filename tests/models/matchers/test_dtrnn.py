import pytest
import torch

from models.matchers.dtrnn import SEQUENCES, TREES, Config, Model, columns
from models.scoring import sum_of_max
from models.types import PaddedBags, ParsedSentence, Span, Word

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
    monkeypatch.setattr("models.matchers.dtrnn.parse_trees", parsed)
    monkeypatch.setattr("models.matchers.dtrnn.parser_key", lambda: "by hand")


def built(**options):
    torch.manual_seed(0)
    config = Config(relations=RELATIONS, sizes=(64,), hidden=8, components=6, **options)
    return Model(config).eval()


def test_a_tree_in_numbers():
    (sentence,) = parsed(TEXTS[:1])
    heads, relations, positions, steps = columns(sentence, Config(relations=RELATIONS)).T.tolist()
    assert heads == [1, -1, 1, 1, 3]
    assert relations == [1, 0, 2, 0, 0]
    assert positions == [1, 0, 6, 7, 6]
    assert steps == [3, 0, 1, 2, 1]


@pytest.mark.parametrize("composition", [*SEQUENCES, *TREES])
def test_a_sentence_is_one_vector_whatever_stands_beside_it(composition):
    model = built(composition=composition)
    both, alone = model.embed_sentences(TEXTS), model.embed_sentences(TEXTS[1:])
    assert [bag.vectors.shape for bag in both] == [(1, 8), (1, 8)]
    torch.testing.assert_close(both[1].vectors, alone[0].vectors, rtol=1e-3, atol=1e-4)
    assert (both[0].labels, both[0].places) == (("whole sentence",), (Span(0, 28),))


@pytest.mark.parametrize("composition", ["position", "relation"])
def test_a_tree_starts_as_the_bag_of_its_words(composition):
    model, bag = (built(composition=one, activation="identity") for one in (composition, "average"))
    for one, other in zip(model.embed_sentences(TEXTS), bag.embed_sentences(TEXTS), strict=True):
        assert torch.nn.functional.cosine_similarity(one.vectors, other.vectors) > 0.9


def test_swapped_roles_are_told_apart_by_trees_and_not_by_a_bag(monkeypatch):
    monkeypatch.setitem(PARSED, "ride bikes", [(1, "nsubj"), (-1, "root")])
    texts = ["bikes ride", "ride bikes"]
    tree, swapped = built(composition="relation").embed_sentences(texts)
    bag, same = built(composition="average").embed_sentences(texts)
    assert not torch.allclose(tree.vectors, swapped.vectors, atol=1e-3)
    assert torch.allclose(bag.vectors, same.vectors, atol=1e-5)


def test_euclidean_scores_are_negative_squared_distances():
    model, plain = built(euclidean=True), built()
    images = PaddedBags.of(list(torch.rand(3, 1, plain.sight.channels)))
    sentences = PaddedBags.of(plain.sentence_inputs(TEXTS))
    v, y = (
        plain.encode_images(images).vectors[:, 0],
        plain.encode_sentences(sentences).vectors[:, 0],
    )
    found = sum_of_max(model.encode_images(images), model.encode_sentences(sentences))
    torch.testing.assert_close(found, -torch.cdist(v, y).square(), rtol=1e-3, atol=1e-4)


def test_bags_and_sequences_share_word_vectors_and_trees_share_one_key():
    keys = {composition: built(composition=composition).sentence_key() for composition in TREES}
    assert len(set(keys.values())) == 1
    assert {built(composition=one).sentence_key() for one in SEQUENCES} == {'["word vectors"]'}


@pytest.mark.parametrize("wrong", [{"composition": "ccg"}, {"activation": "gelu"}])
def test_an_unknown_option_is_refused(wrong):
    with pytest.raises(ValueError, match="there are"):
        built(**wrong)
