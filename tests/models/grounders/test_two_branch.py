import pytest
import torch

from models import checkpoint
from models.grounders.two_branch import FRAME, GEOMETRY, Config, Model, geometry
from models.types import Span

TEXT = "a red dog runs on grass"
PHRASES = [Span(0, 9), Span(18, 23)]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Model(Config(sizes=(64,), proposals="windows", hidden=8, embedding=4, prior=0.5)).eval()


def test_every_phrase_gets_a_score_for_every_box(model, photos):
    boxes, scores = model.locate(photos[0], TEXT, PHRASES)
    assert boxes.shape == (20, 4)
    assert scores.shape == (2, 20)
    assert scores.isfinite().all()


def test_scores_are_those_of_the_embedded_parts(model, photos):
    inputs = torch.stack(model.image_inputs(photos))
    regions = model.embed_regions(inputs)
    phrases = model.embed_phrases(model.phrase_inputs([TEXT], [PHRASES])[0])
    torch.testing.assert_close(regions.norm(dim=-1), torch.ones(3, 20))
    torch.testing.assert_close(phrases.norm(dim=-1), torch.ones(2))
    expected = phrases @ regions[0].T + model.preference(20)
    found = model.locate(photos[0], TEXT, PHRASES)[1]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)  # a batch rounds otherwise


def test_likelier_proposals_are_preferred_and_the_frame_as_the_third(model):
    preference = model.preference(5)
    assert preference[0] == preference[int(FRAME)]
    assert (preference[1:].diff() < 0).all()


def test_a_phrase_without_words_is_refused(model):
    with pytest.raises(ValueError, match="no word in"):
        model.phrase_inputs(["a dog , runs"], [[Span(6, 7)]])


def test_phrases_read_together_are_as_read_one_by_one(model):
    texts, spans = [TEXT, "a red dog"], [PHRASES, [Span(0, 9)]]
    together = model.phrase_inputs(texts, spans)
    assert [len(own) for own in together] == [2, 1]
    for text, own, found in zip(texts, spans, together, strict=True):
        torch.testing.assert_close(found, model.phrase_inputs([text], [own])[0])
    torch.testing.assert_close(together[0][0, 384:], together[1][0, 384:])  # the same words alone


def test_geometry_says_where_how_large_and_how_early():
    shape = geometry(torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.5, 1.0]]))
    assert shape.shape == (2, GEOMETRY)
    assert shape[:, 4].tolist() == [3.0, 0.0]  # areas 1 and ½
    assert shape[0, 5] < shape[1, 5]


def test_a_checkpoint_scores_the_same(model, photos, tmp_path):
    file = tmp_path / "grounder.safetensors"
    checkpoint.save(file, "grounders", "two_branch", model, {})
    loaded = checkpoint.load(file).model
    torch.testing.assert_close(
        loaded.locate(photos[0], TEXT, PHRASES)[1],
        model.locate(photos[0], TEXT, PHRASES)[1],
        rtol=0,
        atol=1e-2,
    )


def test_a_backbone_that_may_be_replaced_is_refused_as_checkpoints_do_not_hold_it():
    with pytest.raises(ValueError, match=r"lite2-sentences is for matchers, .* use one of lite0"):
        Model(Config(backbone="lite2-sentences", sizes=(64,), proposals="windows"))
