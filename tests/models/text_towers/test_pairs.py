import pytest
import torch

from models.text.parsing import parse_trees
from models.text_towers.pairs import Config, Model

RELATIONS = ("amod", "nsubj")
TEXTS = ["A black dog runs on the beach.", "dog", "A qwyjibo runs"]


def built(**options):
    torch.manual_seed(1)
    return Model(Config(embedding=12, **options)).eval()


@pytest.fixture(scope="module")
def trees():
    return built(relations=RELATIONS)


def test_a_fragment_for_the_root_and_for_each_relation_that_is_listed(trees, embed):
    for text, bag in zip(TEXTS, embed(trees, TEXTS), strict=True):
        words = parse_trees([text])[0].words
        kept = [word for word in words if word.head < 0 or word.relation in RELATIONS]
        assert list(bag.places) == [word.span for word in kept]
        assert bag.vectors.shape == (len(kept), 12)
        for label, word in zip(bag.labels, kept, strict=True):
            both = {word.text} | ({words[word.head].text} if word.head >= 0 else set())
            assert set(label.split(" → ")) == both


def test_a_relation_outside_the_list_makes_no_fragment(trees, embed):
    (bag,) = embed(trees, TEXTS[:1])
    assert "black → dog" in bag.labels
    assert not any("beach" in label or "the" in label.split() for label in bag.labels)


def test_one_word_is_enough_for_a_query_and_no_word_is_unknown(trees, embed):
    one, unknown = embed(trees, ["dog", "qwyjibo"])
    assert (one.labels, unknown.labels) == (("dog",), ("qwyjibo",))
    assert one.vectors.any()
    assert not torch.allclose(one.vectors, unknown.vectors)


@pytest.mark.parametrize(("pairs", "labels"), [
    ("bigrams", ("black", "black dog", "dog runs")),
    ("words", ("black", "dog", "runs")),
])  # fmt: skip
def test_bigrams_and_words_need_no_tree(pairs, labels, embed, monkeypatch):
    monkeypatch.delattr("models.text.readers.parse_trees")
    (bag,) = embed(built(pairs=pairs), ["black dog runs."])
    assert (bag.labels, len(bag)) == (labels, 3)


@pytest.mark.parametrize(("options", "pair"), [
    ({"pairs": "bigrams"}, "black dog"),
    ({"relations": RELATIONS}, "black → dog"),
])  # fmt: skip
def test_the_same_pair_is_the_same_fragment_in_any_sentence(options, pair, embed):
    bags = embed(built(**options), ["A black dog", "A black dog sleeps on a chair"])
    one, other = (bag.vectors[bag.labels.index(pair)] for bag in bags)
    torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_what_is_cached_is_named_by_all_that_it_depends_on(trees):
    keys = {
        trees.reader.key(),
        *(built(**one).reader.key() for one in (
            {"relations": ("amod",)}, {"pairs": "bigrams"}, {"pairs": "words"}
        )),
    }  # fmt: skip
    assert len(keys) == 4


def test_other_pairs_are_refused():
    with pytest.raises(ValueError, match="no pairs 'trigrams'; there are: dependencies, bigrams"):
        Config(pairs="trigrams")


def test_relations_of_another_parser_are_refused():
    with pytest.raises(ValueError, match="learned from trees of parser 0123"):
        built(relations=RELATIONS, parser="0123")
