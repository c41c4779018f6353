import pytest
import torch

from models.matchers.defrag import Config, Model
from models.parsing import parse_trees
from models.proposals import REGIONS
from models.scoring import SCORES
from models.types import WHOLE_FRAME, PaddedBags

RELATIONS = ("amod", "nsubj")
TEXTS = ["A black dog runs on the beach.", "dog", "A qwyjibo runs"]


def built(**options):
    torch.manual_seed(1)
    model = Model(Config(sizes=(64,), embedding=12, **options)).eval()
    torch.nn.init.normal_(model.regions.project.weight, std=0.1)
    return model


@pytest.fixture(scope="module")
def trees():
    return built(relations=RELATIONS)


def test_a_fragment_for_the_root_and_for_each_relation_that_is_listed(trees):
    for text, bag in zip(TEXTS, trees.embed_sentences(TEXTS), strict=True):
        words = parse_trees([text])[0].words
        kept = [word for word in words if word.head < 0 or word.relation in RELATIONS]
        assert list(bag.places) == [word.span for word in kept]
        assert bag.vectors.shape == (len(kept), 12)
        for label, word in zip(bag.labels, kept, strict=True):
            both = {word.text} | ({words[word.head].text} if word.head >= 0 else set())
            assert set(label.split()) == both


def test_a_relation_outside_the_list_makes_no_fragment(trees):
    (bag,) = trees.embed_sentences(TEXTS[:1])
    assert "black dog" in bag.labels
    assert not any("beach" in label or "the" in label.split() for label in bag.labels)


def test_one_word_is_enough_for_a_query_and_no_word_is_unknown(trees):
    one, unknown = trees.embed_sentences(["dog", "qwyjibo"])
    assert (one.labels, unknown.labels) == (("dog",), ("qwyjibo",))
    assert one.vectors.any()
    assert not torch.allclose(one.vectors, unknown.vectors)


@pytest.mark.parametrize(("fragments", "labels"), [
    ("bigrams", ("black", "black dog", "dog runs")),
    ("words", ("black", "dog", "runs")),
])  # fmt: skip
def test_bigrams_and_words_need_no_tree(fragments, labels, monkeypatch):
    monkeypatch.delattr("models.matchers.defrag.parse_trees")
    (bag,) = built(fragments=fragments).embed_sentences(["black dog runs."])
    assert (bag.labels, len(bag)) == (labels, 3)


def test_the_same_pair_is_the_same_fragment_in_any_sentence():
    bigrams = built(fragments="bigrams")
    one, other = bigrams.embed_sentences(["a black dog", "Black Dog sleeps on a chair"])
    torch.testing.assert_close(one.vectors[2], other.vectors[1], rtol=1e-3, atol=1e-4)


def test_scores_are_those_of_equation_6(trees, photos):
    images, sentences = trees.embed_images(photos), trees.embed_sentences(TEXTS)
    pairs = [PaddedBags.of([bag.vectors for bag in bags]) for bags in (images, sentences)]
    scores = SCORES[trees.score](*pairs)
    for k, g_k in enumerate(images):
        for l, g_l in enumerate(sentences):  # noqa: E741 - the paper's letter
            total = sum(max(0.0, float(v @ s)) for v in g_k.vectors for s in g_l.vectors)
            assert float(scores[k, l]) == pytest.approx(
                total / (len(g_k) * (len(g_l) + 5)), rel=1e-4
            )
    assert (scores > 0).any(dim=0).all()


def test_the_whole_frame_is_a_photo_s_only_region_if_it_is_told_so(trees, photos):
    (whole,) = built(fragments="words", full_frame=True).embed_images(photos[:1])
    assert whole.places == (WHOLE_FRAME,)
    assert len(trees.embed_images(photos[:1])[0]) == REGIONS


def test_what_is_cached_is_named_by_all_that_it_depends_on(trees):
    keys = {
        trees.sentence_key(),
        *(built(**one).sentence_key() for one in (
            {"relations": ("amod",)}, {"fragments": "bigrams"}, {"fragments": "words"}
        )),
    }  # fmt: skip
    assert len(keys) == 4
    frames = [built(fragments="words", full_frame=one).image_key() for one in (False, True)]
    assert frames[0] != frames[1]


def test_other_fragments_are_refused():
    with pytest.raises(ValueError, match="no fragments 'trigrams'; there are: dependencies, big"):
        Config(fragments="trigrams")
