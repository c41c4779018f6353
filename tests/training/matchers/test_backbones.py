"""A matcher's tuned CNN is a file, for other matchers."""

from dataclasses import replace

import pytest
import torch

from models import checkpoint, shipped
from models.matcher import Config, TwoTowerMatcher
from models.vision import backbones
from models.vision.sight import ViewSight
from training.matchers import train as run
from training.matchers.average import require_alike
from training.matchers.backbones import extract
from training.matchers.preset import parse
from training.runs.folder import RunPlace


@pytest.fixture(scope="module")
def photos():
    torch.manual_seed(1)
    return [torch.randint(0, 256, (3, 60, 80), dtype=torch.uint8) for _ in range(2)]


TEXT = {"name": "minilm", "options": {"frozen_layers": 6}}


def matcher(**image):
    return TwoTowerMatcher(
        Config({"name": "branch", "options": {"hidden": 0, "embedding": 256, **image}}, TEXT)
    )


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A matcher with a tuned CNN, and its file."""
    torch.manual_seed(0)
    model = matcher(sizes=(64,), tuned=True)
    with torch.no_grad():
        for weight in model.image.sight.parameters():
            weight.mul_(1 + 0.1 * weight.requires_grad)
    path = tmp_path_factory.mktemp("tuned") / "matcher.safetensors"
    checkpoint.save(path, "matchers", "tuned", model, {"seed": 0})
    return model, path


@pytest.fixture
def shipped_backbone(tuned, tmp_path, monkeypatch):
    path = extract(tuned[1], tmp_path / "lite0-tuned.safetensors")
    monkeypatch.setitem(shipped.BACKBONES, "lite0-tuned", path)
    return tuned[0].image.sight.features.backbone


def test_an_extracted_backbone_sees_what_the_matcher_saw(shipped_backbone, photos):
    pixels = backbones.squash(photos, 64)
    network = backbones.load("lite0-tuned")
    with torch.inference_mode():
        expected, seen = shipped_backbone(pixels), network(pixels)
        packaged = backbones.load("lite0")(pixels)
    moved, rounded = (packaged - expected).abs().mean(), (seen - expected).abs().mean()
    assert rounded < 0.03 * moved
    assert not any(weight.requires_grad for weight in network.parameters())


@pytest.mark.usefixtures("shipped_backbone")
def test_a_view_keeps_tuned_weights_in_the_checkpoint_and_names_them_in_its_key():
    views = ("lite0@32", "lite0-tuned@64")
    image = {"name": "regions_in_context", "options": {"views": views, "proposals": "windows"}}
    model = TwoTowerMatcher(Config(image, TEXT))
    stored = {key for key in checkpoint.collect_weights(model) if "backbones" in key}
    assert stored
    assert all("backbones.lite0-tuned." in key for key in stored)
    before = model.image.sight.key()
    assert backbones.digest(backbones.load("lite0-tuned")) in before
    with torch.no_grad():
        next(model.image.sight.backbones["lite0-tuned"].parameters()).add_(1)
    assert model.image.sight.key() != before


@pytest.mark.usefixtures("shipped_backbone")
def test_a_stored_matcher_sees_by_its_own_weights_whatever_ships_later(tmp_path, photos):
    torch.manual_seed(0)
    image = {
        "name": "regions_in_context",
        "options": {"views": ("lite0@32", "lite0-tuned@64"), "proposals": "windows"},
    }
    model = TwoTowerMatcher(Config(image, TEXT)).eval()
    path = tmp_path / "matcher.safetensors"
    checkpoint.save(path, "matchers", "views", model, {})
    extract_of_other = backbones.load_retrained(shipped.BACKBONES["lite0-tuned"])
    with torch.no_grad():
        for weight in extract_of_other.parameters():
            weight.zero_()
    weights = checkpoint.collect_weights(extract_of_other)
    described = {
        "kind": "backbones",
        "name": "lite0-tuned",
        "config": {"start": "lite0"},
        "facts": {},
    }
    checkpoint.write(shipped.BACKBONES["lite0-tuned"], weights, described)
    loaded = checkpoint.load(path).model
    expected, bags = (m.embed_images(photos[:1])[0].vectors for m in (model, loaded))
    torch.testing.assert_close(bags, expected, rtol=1e-3, atol=1e-3)


def test_what_tuned_no_cnn_is_refused_with_what_would_work(tmp_path):
    path = tmp_path / "frozen.safetensors"
    checkpoint.save(path, "matchers", "frozen", matcher(sizes=(32,)), {})
    with pytest.raises(ValueError, match=r"did not tune .* tuned = true, .* lite2-tuned"):
        extract(path, tmp_path / "out.safetensors")


def test_of_torchvision_s_networks_none_is_extracted(tmp_path):
    path = tmp_path / "resnet.safetensors"
    model = matcher(backbone="resnet18", sizes=(32,), tuned=True)
    checkpoint.save(path, "matchers", "resnet", model, {})
    with pytest.raises(LookupError, match="resnet18 is no EfficientNet-Lite"):
        extract(path, tmp_path / "out.safetensors")


@pytest.mark.usefixtures("shipped_backbone")
def test_what_was_tuned_is_tuned_again_and_extracted(few, tmp_path):
    place, image = RunPlace(tmp_path, tmp_path / "features"), {"backbone": "lite0-tuned"}
    start = run.train(branch("frozen", **image), few, place)
    tuned = branch("tuned", **image, tuned=True)
    best = run.train(tuned, few, replace(place, start=start))
    out = extract(best, tmp_path / "again.safetensors")
    before, after = cnn(start), cnn(best)
    extracted = backbones.load_retrained(out).state_dict()
    moved = {name for name, weight in extracted.items() if not torch.equal(weight, before[name])}
    assert moved
    for name, weight in extracted.items():
        torch.testing.assert_close(weight, after[name], rtol=1e-3, atol=1e-6)
    assert checkpoint.read(out)[1]["config"] == {"start": "lite0"}  # as that of its start
    other = checkpoint.load(best)
    with torch.no_grad():
        for weight in other.model.image.sight.parameters():
            weight.mul_(1.01)  # another seed tuned it otherwise
    assert len(require_alike([checkpoint.load(best), other])) == 2  # which can be averaged


def branch(name, **image):
    """A preset of one vector a photo, of a few steps."""
    sides = {
        "image": {"name": "branch", "sizes": [32], "hidden": 0, "embedding": 8, **image},
        "text": {"name": "minilm", "frozen_layers": 6, "embedding": 8},
    }
    schedule = {"epochs": 1, "batch": 6}
    return parse(name, {"model": sides, "objective": {"name": "contrastive"}, "schedule": schedule})


def cnn(path):
    """The weights of a matcher's CNN in its checkpoint."""
    return checkpoint.load(path).model.sight.features.backbone.state_dict()


IMAGES = [
    {
        "name": "regions_in_context",
        "options": {"views": ("lite0-tuned@32",), "proposals": "windows"},
    },
    {"name": "branch", "options": {"backbone": "lite0-tuned", "sizes": (32,), "embedding": 256}},
]


@pytest.mark.parametrize("image", IMAGES, ids=["views", "branch"])
@pytest.mark.usefixtures("shipped_backbone")
def test_a_tuned_backbone_is_stored_in_half_precision(image, tmp_path):
    path = tmp_path / "matcher.safetensors"
    checkpoint.save(path, "matchers", "views", TwoTowerMatcher(Config(image, TEXT)), {})
    stored, _ = checkpoint.read(path)
    network = {key: value for key, value in stored.items() if ".sight." in key}
    assert network
    assert {value.dtype for value in network.values()} == {torch.float16}


def test_views_share_no_weights_with_a_tuned_cnn():
    before = backbones.digest(backbones.load("lite0"))
    network = backbones.load("lite0", tuned=True)
    with torch.no_grad():
        for weight in network.parameters():
            weight.zero_()
    assert backbones.digest(backbones.load("lite0")) == before
    assert ViewSight(("lite0@32",), "windows").retrained == []
