import pytest
import torch

from models.matchers.dvsa import Config, Model
from models.parsing import parse, parse_trees
from models.scoring import SCORES
from models.types import PaddedBags

RELATIONS = ("amod", "nsubj")
TEXTS = ["A black dog runs on the beach.", "dog", "A qwyjibo runs"]


def built(**options):
    torch.manual_seed(0)
    model = Model(Config(sizes=(64,), embedding=12, hidden=7, **options)).eval()
    torch.nn.init.normal_(model.regions.project.weight, std=0.1)
    return model


@pytest.fixture(scope="module", params=[False, True], ids=["words", "edges"])
def matcher(request):
    return built(edges=request.param, relations=RELATIONS)


def test_a_fragment_is_a_word_or_a_listed_relation(matcher):
    for text, bag in zip(TEXTS, matcher.embed_sentences(TEXTS), strict=True):
        words = parse_trees([text])[0].words if matcher.config.edges else parse(text).words
        if matcher.config.edges:
            words = [word for word in words if word.head < 0 or word.relation in RELATIONS]
        assert list(bag.places) == [word.span for word in words]
        assert all(
            word.text in label.split() for word, label in zip(words, bag.labels, strict=True)
        )


def test_one_word_is_enough_for_a_query_and_no_word_is_unknown(matcher):
    one, unknown = matcher.embed_sentences(["dog", "qwyjibo"])
    assert (one.labels, unknown.labels) == (("dog",), ("qwyjibo",))
    assert not torch.allclose(one.vectors, unknown.vectors)


def test_scores_are_those_of_equation_8(matcher, photos):
    images, sentences = matcher.embed_images(photos), matcher.embed_sentences(TEXTS)
    pairs = [PaddedBags.of([bag.vectors for bag in bags]) for bags in (images, sentences)]
    scores = SCORES[matcher.score](*pairs)
    for k, g_k in enumerate(images):
        for l, g_l in enumerate(sentences):  # noqa: E741 - the paper's letter
            total = sum(max(float(v @ s) for v in g_k.vectors) for s in g_l.vectors)
            assert float(scores[k, l]) == pytest.approx(total, rel=1e-4, abs=1e-5)


def test_a_word_s_vector_knows_its_sentence_and_a_relation_s_does_not():
    texts = ["black dog", "black dog runs"]
    one, other = built().embed_sentences(texts)
    assert not torch.allclose(one.vectors[0], other.vectors[0], atol=1e-4)
    edges = built(edges=True, relations=RELATIONS)
    bags = edges.embed_sentences(texts)
    one, other = (bag.vectors[bag.labels.index("black dog")] for bag in bags)
    torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_what_is_cached_is_named_by_all_that_it_depends_on():
    keys = {
        built(edges=edges, relations=relations).sentence_key()
        for edges in (False, True)
        for relations in (RELATIONS, RELATIONS[:1])
    }
    assert len(keys) == 3
