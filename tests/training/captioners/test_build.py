from dataclasses import replace

import pytest
import torch

from models import checkpoint
from models.captioners.attentive import Config, Model
from models.matcher import Config as MatcherConfig
from models.matcher import TwoTowerMatcher
from training.captioners import preset as captioner_presets
from training.captioners.build import build, change_tower

TOWER = {"views": ("lite0@32",), "embedding": 8, "classifiers": ("lite0@32",), "names": 1.0}
SIZES = {"joint": 8, "embedding": 8, "hidden": 8, "attention": 4}


def make_matcher(**options):
    image = {"name": "regions_in_context", "options": TOWER | options}
    conse = image["options"].get("conse", 0)
    text = {"embedding": image["options"]["embedding"], "names": True, "conse": conse}
    return TwoTowerMatcher(MatcherConfig(image, {"name": "minilm", "options": text})).eval()


def test_a_captioner_goes_on_with_a_matchers_tower_and_networks():
    torch.manual_seed(0)
    matcher = make_matcher(conse=4)
    image = replace(matcher.config.image, options=replace(matcher.config.image.options, conse=2))
    captioner = Model(Config(("a", "dog"), image, **SIZES))
    state = captioner.state_dict()
    seen = [name for name in state if name.startswith("sight.")]
    for name in seen:
        state[name] = torch.zeros_like(state[name])
    moved = change_tower(captioner, matcher)
    assert moved.config.image == matcher.config.image
    assert moved.sight.key() == matcher.sight.key()
    for name in ("lstm", "words", "frame"):
        before, after = (getattr(one.language, name).state_dict() for one in (captioner, moved))
        assert all(torch.equal(weight, after[key]) for key, weight in before.items())


@pytest.mark.parametrize("options", [{"embedding": 6}, {"views": ("lite0@64",)}])
def test_a_captioner_does_not_go_on_with_other_views_or_another_space(options):
    captioner = Model(Config(("a", "dog"), make_matcher().config.image, **SIZES))
    classifiers = {"classifiers": options["views"]} if "views" in options else {}
    with pytest.raises(ValueError, match="go on with a matcher of the same views"):
        change_tower(captioner, make_matcher(**options, **classifiers))


def test_a_start_of_another_model_is_named_by_its_kind(tmp_path):
    file = tmp_path / "matcher.safetensors"
    checkpoint.save(file, "matchers", "x", make_matcher(), {})
    expected = "is x, one of the matchers; the preset goes on with the captioner attentive"
    with pytest.raises(ValueError, match=expected):
        build(captioner_presets.read("attentive"), ["a dog"], file)
