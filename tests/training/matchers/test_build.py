from dataclasses import replace

import pytest
import torch

from models import checkpoint, header, shipped
from models.checkpoint import Checkpoint
from models.matcher import Config, TwoTowerMatcher
from models.shipped import PRETRAINED
from models.vision import backbones
from training.matchers import preset
from training.matchers import train as run
from training.matchers.build import build, complete
from training.matchers.preset import parse
from training.runs.folder import RunPlace

VIEWS = ["lite0@32", "lite0-tuned@32"]


def ship(path, scale):
    """Make "lite0-tuned" the packaged Lite0 with its weights scaled."""
    network = backbones.load("lite0", tuned=True)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(scale)
    described = {"kind": "backbones", "name": "tuned", "config": {"start": "lite0"}, "facts": {}}
    weights = {key: value.half() for key, value in checkpoint.collect_weights(network).items()}
    checkpoint.write(path, weights, described)


@pytest.fixture
def shipped_backbone(tmp_path, monkeypatch):
    path = tmp_path / "lite0-tuned.safetensors"
    monkeypatch.setitem(shipped.BACKBONES, "lite0-tuned", path)
    ship(path, 0.9)
    return path


def preset_of(epochs=1, shape=(("embedding", 8),), references=(), **image):
    """A small preset of shipped towers, with a `shape` for both."""
    options = {"views": VIEWS, **dict(shape)} | image
    tables = {
        "model": {
            "image": {"name": "regions_in_context", **options},
            "text": {"name": "minilm", "frozen_layers": 6, **dict(shape)},
            **dict(references),
        },
        "objective": {"name": "contrastive"},
        "schedule": {"epochs": epochs, "batch": 6},
    }
    return parse("views", tables)


def backbone(path):
    """The digest of the tuned backbone in a matcher's checkpoint."""
    return checkpoint.load(path).model.image.sight.digest("lite0-tuned")


def test_a_start_goes_on_seeing_with_its_own_backbone_whatever_ships_by_now(
    shipped_backbone, few, tmp_path
):
    cache = tmp_path / "features"
    start = run.train(preset_of(), few, RunPlace(tmp_path / "old", cache))
    features = set(cache.glob("images/*.pt"))
    ship(shipped_backbone, 1.1)
    best = run.train(preset_of(), few, RunPlace(tmp_path / "new", cache, start=start))
    assert backbone(best) == backbone(start)
    assert set(cache.glob("images/*.pt")) == features  # it sees what the start saw
    again = run.train(preset_of(), few, RunPlace(tmp_path / "again", cache))
    assert backbone(again) != backbone(start)
    assert len(set(cache.glob("images/*.pt"))) == 2 * len(features)


def test_a_resumed_run_goes_on_seeing_with_its_own_backbone(
    shipped_backbone, few, tmp_path, interrupt
):
    place = RunPlace(tmp_path / "runs", tmp_path / "features")
    interrupt(lambda: run.train(preset_of(2), few, place))
    features = set(place.cache.glob("images/*.pt"))
    ship(shipped_backbone, 1.1)
    run.train(preset_of(2), few, place, resume=True)
    assert set(place.cache.glob("images/*.pt")) == features


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (
            {"views": ["lite0@32", "lite0-tuned@64"]},
            r'image\.views is \["lite0@32", .*@64"\], in the checkpoint',
        ),
        ({"proposals": "frame"}, r'image\.proposals is "frame", in the checkpoint "windows"'),
        ({"maximum": True}, r"image\.maximum is true, in the checkpoint false"),
    ],
)
@pytest.mark.usefixtures("shipped_backbone")
def test_a_start_with_other_options_is_refused_by_their_names(image, said, few):
    start = Checkpoint("matchers", "views", TwoTowerMatcher(preset_of().model), "f", {})
    with pytest.raises(ValueError, match=f"the checkpoint to start from: {said}"):
        build(preset_of(**image), few.split("train"), start)


def test_the_shape_that_an_average_gave_to_vectors_stays_unless_the_preset_has_its_own():
    named = {"views": ["lite0@32"], "classifiers": ["lite0@32"]}
    averaged = preset_of(shape={"embedding": 6, "conse": 4}, **named)
    start = Checkpoint("matchers", "views", TwoTowerMatcher(averaged.model), "f", {})
    assert build(preset_of(shape={}, **named), [], start).dimension == 6 + 4
    with pytest.raises(ValueError, match=r"image\.embedding is 8, in the checkpoint 6"):
        build(preset_of(shape={"embedding": 8}, **named), [], start)


def test_a_start_may_have_other_numbers_of_references_than_the_preset():
    """They are measured again, or stay until then if equal."""
    torch.manual_seed(0)
    photos = {"references": 4}
    former = TwoTowerMatcher(preset_of(views=["lite0@32"], references=photos).model)
    former.refer(torch.rand(4, former.dimension))
    start = Checkpoint("matchers", "views", former, "f", {})
    same = build(preset_of(views=["lite0@32"], references=photos), [], start)
    assert torch.equal(same.offsets.references, former.offsets.references)
    both = photos | {"reference_sentences": 6}
    more = build(preset_of(views=["lite0@32"], references=both), [], start)
    assert more.dimension == former.dimension + 1
    assert torch.equal(more.image.photo.weight, former.image.photo.weight)


@pytest.mark.parametrize(
    ("name", "file"),
    [("tessera-world", "matcher"), ("tessera", "matcher"), ("tessera-light", "matcher-light")],
)
def test_a_matcher_that_ships_is_a_start_for_its_preset(name, file):
    shipped_config = Config(**header.read(PRETRAINED / f"{file}.safetensors")["config"])
    model = preset.read(name).model
    measured = {  # a training measures its own offsets
        option: getattr(model, option)
        for option in ("references", "reference_sentences", "offset_weights")
    }
    assert complete(model, shipped_config) == replace(shipped_config, **measured)
    if name == "tessera-world":
        assert complete(model, shipped_config) == shipped_config
