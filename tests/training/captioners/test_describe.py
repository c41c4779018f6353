"""Captions of a split by a captioner, or as a service's."""

import pytest
import torch

from models import checkpoint
from models.captioners import attentive
from models.matcher import Config, TwoTowerMatcher
from training.captioners.describe import describe
from training.evaluation.embedding import read_pixels

VIEWS = {"views": ("lite0@64", "lite0@96"), "proposals": "windows"}
WORDS = ("a", "red", "blue", "circle", "square")


def matcher(folder, **options):
    torch.manual_seed(0)
    image = {"name": "regions_in_context", "options": VIEWS | {"embedding": 8} | options}
    made = TwoTowerMatcher(
        Config(image, {"name": "brnn", "options": {"embedding": 8, "hidden": 8}})
    )
    torch.nn.init.normal_(made.image.regions.project.weight, std=50.0)  # it begins at zero
    checkpoint.save(folder / "matcher.safetensors", "matchers", "tessera", made.eval(), {})
    return checkpoint.load(folder / "matcher.safetensors")


@pytest.fixture(scope="module")
def captioner():
    torch.manual_seed(0)
    image = {"name": "regions_in_context", "options": VIEWS | {"embedding": 8}}
    sizes = {"joint": 8, "embedding": 8, "hidden": 8, "attention": 8}
    return attentive.Model(attentive.Config(WORDS, image, **sizes, shortest=2, longest=6)).eval()


def test_a_matcher_ranks_candidates_and_gives_words_boxes(captioner, few, tmp_path):
    examples = few.split("val")[:3]
    judge = matcher(tmp_path)
    alone, ranked = (describe(captioner, examples, judge=one) for one in (None, judge))
    assert all(one.attended and not one.linked for one in alone)
    assert all(one.attended for one in ranked)
    assert any(one.linked for one in ranked)
    for one in ranked:
        words = {one.text[span.start : span.end].lower() for span in one.linked}
        assert words <= {"red", "blue", "circle", "square"}


def test_known_features_give_the_same_captions_without_boxes(captioner, few, tmp_path):
    examples = few.split("val")[:3]
    with torch.inference_mode():
        inputs, _ = captioner.sight([read_pixels(one.image) for one in examples])
    judge = matcher(tmp_path)
    seen = describe(captioner, examples, judge=judge)
    known = describe(captioner, examples, inputs=inputs, judge=judge)
    assert [one.text for one in known] == [one.text for one in seen]
    assert not any(one.attended or one.linked for one in known)


def test_a_matcher_that_sees_otherwise_ranks_by_what_it_sees(captioner, few, tmp_path):
    examples = few.split("val")[:3]
    judge = matcher(tmp_path, views=("lite0@64", "lite0@128"))
    with torch.inference_mode():
        photos = [read_pixels(one.image) for one in examples]
        inputs, by_judge = captioner.sight(photos)[0], judge.model.sight(photos)[0]
    ranked = describe(captioner, examples, judge=judge)
    known = describe(captioner, examples, inputs=inputs, judge=judge, judge_inputs=by_judge)
    assert all(one.attended for one in ranked)
    assert any(one.linked for one in ranked)
    assert [one.text for one in known] == [one.text for one in ranked]
    with pytest.raises(ValueError, match="give the features of both, or of neither"):
        describe(captioner, examples, inputs=inputs, judge=judge)
