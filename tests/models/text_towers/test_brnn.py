import pytest
import torch

from models.text_towers.brnn import Config, Model

TEXTS = ["A black dog runs on the beach.", "dog", "A qwyjibo runs"]


@pytest.fixture(scope="module")
def tower():
    torch.manual_seed(0)
    return Model(Config(embedding=12, hidden=7)).eval()


def test_a_fragment_is_a_word(tower, embed):
    bag, _, _ = embed(tower, TEXTS)
    assert bag.labels == ("A", "black", "dog", "runs", "on", "the", "beach")
    assert [TEXTS[0][span.start : span.end] for span in bag.places] == list(bag.labels)
    assert bag.vectors.shape == (7, 12)


def test_one_word_is_enough_for_a_query_and_no_word_is_unknown(tower, embed):
    one, unknown = embed(tower, ["dog", "qwyjibo"])
    assert (one.labels, unknown.labels) == (("dog",), ("qwyjibo",))
    assert not torch.allclose(one.vectors, unknown.vectors)


def test_a_word_s_vector_depends_on_its_sentence(tower, embed):
    one, other = embed(tower, ["black dog", "black dog runs"])
    assert not torch.allclose(one.vectors[0], other.vectors[0], atol=1e-4)
