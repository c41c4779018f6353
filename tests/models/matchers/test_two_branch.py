import pytest
import torch

from models.matchers.two_branch import TEXTS, Config, Model
from models.scoring import sum_of_max
from models.types import PaddedBags

SENTENCES = ["a dog runs", "a dog", "two cats sleep on snow", "runs a dog"]


@pytest.fixture(scope="module", params=TEXTS)
def model(request):
    torch.manual_seed(0)
    words, small = ("a", "dog", "cats"), {"axes": 3, "components": 2, "principal": 4}
    model = Model(Config(request.param, words=words, sizes=(32,), hidden=5, embedding=6, **small))
    model.prepare([torch.rand(1, 1280)] * 2, model.sentence_inputs(SENTENCES), [0, 0, 1, 1])
    return model.eval()


def test_scores_rank_as_distances_of_unit_vectors(model, photos):
    photo = PaddedBags.of([bag.vectors for bag in model.embed_images(photos)])
    said = PaddedBags.of([bag.vectors for bag in model.embed_sentences(SENTENCES)])
    distances = torch.cdist(photo.vectors[:, 0], said.vectors[:, 0])
    expected = 1 - distances.square() / 2
    torch.testing.assert_close(sum_of_max(photo, said), expected, atol=1e-5, rtol=1e-4)


def test_no_text_feature_knows_the_order_of_words(model):
    one, _, _, turned = model.embed_sentences(SENTENCES)
    torch.testing.assert_close(one.vectors, turned.vectors, atol=1e-3, rtol=1e-3)


def test_a_linear_model_has_one_map_a_side():
    model = Model(Config("tfidf", linear=True, sizes=(32,), embedding=6))
    assert [name for name, _ in model.named_parameters() if "sight" not in name] == [
        f"{side}.layers.1.{kind}" for side in "xy" for kind in ("weight", "bias")
    ]


def test_an_unknown_text_feature_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="no text features 'bert'; there are: hglmm, mean, tfidf"):
        Config(text="bert")
