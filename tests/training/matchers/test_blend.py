from copy import deepcopy

import pytest
import torch
from torch.nn.init import orthogonal_

from models import checkpoint
from models.matcher import Config, TwoTowerMatcher
from models.vision import backbones
from training.data.corpus import Corpus, Example
from training.matchers.average import MAPS
from training.matchers.blend import align, choose_texts, draw_back, draw_towards, write

SIZE = 8
TEXTS = [
    f"a {colour} {thing}"
    for colour in ("red", "blue", "old")
    for thing in ("dog", "boat", "hat", "tree")
]
IMAGE = {"views": ["lite2-sentences@64", "lite0@64"], "embedding": SIZE, "likelihood": True}
TEXT = {"embedding": SIZE, "frozen_layers": 5, "prior": 1.0}


def make(image=IMAGE):
    torch.manual_seed(0)
    towers = {"regions_in_context": image, "minilm": TEXT}
    sides = [{"name": name, "options": options} for name, options in towers.items()]
    matcher = TwoTowerMatcher(Config(image=sides[0], text=sides[1])).eval()
    torch.nn.init.normal_(matcher.image.regions.project.weight)
    return matcher


def rotated(matcher):
    """The same matcher in a rotated joint space."""
    rotation = orthogonal_(torch.empty(SIZE, SIZE))
    other = deepcopy(matcher)
    with torch.no_grad():
        for name, weight in other.named_parameters():
            if name in MAPS:
                weight.copy_(rotation @ weight)
    return other


@pytest.fixture
def photo(tmp_path):
    """A file; blends look at texts alone."""
    file = tmp_path / "photo.png"
    file.touch()
    return file


def test_the_rotation_between_vectors_is_found():
    former, rotation = torch.randn(40, SIZE), orthogonal_(torch.empty(SIZE, SIZE))
    torch.testing.assert_close(align(former, former @ rotation), rotation, atol=1e-4, rtol=0)


def test_a_matcher_blended_with_itself_in_a_rotated_space_stays():
    matcher = make()
    other, before = rotated(matcher), deepcopy(matcher.state_dict())
    assert not torch.allclose(other.text.project.weight, matcher.text.project.weight, atol=0.01)
    draw_towards(matcher, other, TEXTS, 0.4)
    for name, weight in matcher.state_dict().items():
        torch.testing.assert_close(weight, before[name], atol=1e-4, rtol=0)


def test_the_share_is_that_of_the_former_weights():
    matcher = make()
    former = deepcopy(matcher)
    with torch.no_grad():
        former.image.log_scale.add_(1.0)
    expected = matcher.image.log_scale.item() + 0.25
    draw_towards(matcher, former, TEXTS, 0.25)
    assert matcher.image.log_scale.item() == pytest.approx(expected)


def test_a_tuned_network_is_drawn_back_to_its_package_and_others_stay():
    matcher = make()
    packaged = backbones.load_pretrained("lite2").network.state_dict()
    networks = matcher.sight.backbones
    tuned = deepcopy(networks["lite2-sentences"].state_dict())
    assert any(not torch.equal(weight, packaged[name]) for name, weight in tuned.items())
    other = deepcopy(networks["lite0"].state_dict())
    draw_back(matcher, 0.5)
    for name, weight in networks["lite2-sentences"].state_dict().items():
        torch.testing.assert_close(weight, (tuned[name] + packaged[name]) / 2)
    for name, weight in networks["lite0"].state_dict().items():
        assert torch.equal(weight, other[name]), name


def test_a_sentence_of_every_second_photo_aligns(photo):
    rows = [("train", Example(str(k), photo, (f"{k} a", f"{k} b"))) for k in range(4)]
    rows.append(("train", Example("untold", photo, ())))
    assert choose_texts(Corpus.of("x", rows)) == ["0 a", "2 a"]


def test_matchers_of_other_views_are_refused(tmp_path, photo):
    files = [tmp_path / name for name in ("one.safetensors", "other.safetensors")]
    for file, views in zip(files, (IMAGE["views"], ["lite0@64"]), strict=True):
        checkpoint.save(file, "matchers", "x", make(IMAGE | {"views": views}), {})
    corpus = Corpus.of("x", [("train", Example("a", photo, ("a dog",)))])
    with pytest.raises(ValueError, match="other views or sizes"):
        write(*files, corpus, 0.5, 0.5, tmp_path / "out.safetensors")


def test_a_blend_is_written_with_its_origins(tmp_path, photo):
    files = [tmp_path / name for name in ("new.safetensors", "former.safetensors")]
    matcher = make()
    checkpoint.save(files[0], "matchers", "x", matcher, {"seed": "0"})
    checkpoint.save(files[1], "matchers", "x", rotated(matcher), {})
    rows = [("train", Example(str(k), photo, (text,))) for k, text in enumerate(sorted(TEXTS * 2))]
    loaded = checkpoint.load(
        write(*files, Corpus.of("x", rows), 0.5, 0.0, tmp_path / "out.safetensors")
    )
    assert loaded.facts["seed"] == "0"
    assert (loaded.facts["blended"]["share"], loaded.facts["blended"]["network"]) == (0.5, 0.0)
    torch.testing.assert_close(
        loaded.model.text.project.weight, matcher.text.project.weight, atol=5e-3, rtol=0
    )
