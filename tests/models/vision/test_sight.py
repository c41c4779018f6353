import pytest
import torch

from models.towers import Sight
from models.vision import backbones
from models.vision.backbones import squash
from models.vision.lite import Lite
from models.vision.regions import pool
from models.vision.sight import Look, RegionSight, ViewSight, share_sight


def test_each_photo_has_features_of_each_box_at_each_size(photos):
    with torch.inference_mode():
        inputs, boxes = RegionSight("lite0", (32, 64), "windows", tuned=False)(photos)
    assert [one.shape for one in inputs] == [(20, 2 * 1280)] * 3
    assert [one.shape for one in boxes] == [(20, 4)] * 3
    assert boxes[0][0].tolist() == [0, 0, 1, 1]


def test_a_key_names_cnn_sizes_and_boxes():
    sight = RegionSight("lite0", [32, 64], "frame", tuned=False)
    assert sight.key() == '["lite0", [32, 64], [[0.0, 0.0, 1.0, 1.0]]]'


def test_a_key_names_the_weights_of_a_cnn_that_no_package_brings():
    sight = RegionSight("lite2-sentences", [32], "frame", tuned=False)
    digest = backbones.digest(sight.features.backbone)
    assert sight.key() == f'["lite2-sentences", [32], [[0.0, 0.0, 1.0, 1.0]], "{digest}"]'


@pytest.mark.parametrize("tuned", [False, True])
def test_a_cnn_stays_in_evaluation_mode_and_trains_only_where_it_is_tuned(tuned):
    sight = RegionSight("lite0", (32,), "windows", tuned).train()
    assert not any(module.training for module in sight.modules())
    assert any(weight.requires_grad for weight in sight.parameters()) == tuned
    assert sight.packaged == (() if tuned else ("features.",))


def test_learned_proposals_do_not_go_with_a_tuned_cnn():
    with pytest.raises(ValueError, match="use proposals = 'windows'"):
        RegionSight("lite0", (224, 448), "learned", tuned=True)


def test_views_come_first_and_boxes_are_seen_in_the_last_view(photos):
    sight = ViewSight(("lite0@64", "lite2@96", "lite0@96"), "windows")
    with torch.inference_mode():
        inputs, boxes = sight(photos)
        maps = sight.backbones["lite0"](squash(photos, 96))
    assert [one.shape for one in inputs] == [(3 + 19, 1280)] * 3
    assert [one.shape for one in boxes] == [(20, 4)] * 3
    frames = torch.stack(inputs)[:, 2]
    torch.testing.assert_close(frames, maps.mean((2, 3)), rtol=1e-4, atol=1e-5)
    regions = pool(maps, torch.stack(boxes)[:, 1:])
    torch.testing.assert_close(torch.stack(inputs)[:, 3:], regions, rtol=1e-4, atol=1e-5)


def test_a_network_is_loaded_once_for_all_its_views_and_never_trains():
    sight = ViewSight(("lite0@32", "lite0@64"), "windows").train()
    assert list(sight.backbones) == ["lite0"]
    assert not any(module.training for module in sight.modules())
    assert not any(weight.requires_grad for weight in sight.parameters())


def test_sights_that_share_see_a_common_view_once_and_the_same_as_alone(photos, monkeypatch):
    passes = []
    pyramid = Lite.pyramid

    def counted(network, pixels):
        passes.append(pixels.shape[-1])
        return pyramid(network, pixels)

    own = ViewSight(("lite0@32", "lite2@48", "lite0@64"), "windows")
    other = ViewSight(("lite0@32", "lite0@48", "lite0@64"), "windows")
    with torch.inference_mode():
        alone = other(photos[:1])
    other.share(own)
    assert other.backbones["lite0"] is own.backbones["lite0"]
    monkeypatch.setattr(Lite, "pyramid", counted)
    look = Look(photos[0])
    look.by(own)
    inputs, boxes = look.by(other)
    assert passes == [32, 48, 64, 48]
    torch.testing.assert_close([inputs], alone[0])
    torch.testing.assert_close([boxes], alone[1])


def test_a_network_of_the_same_name_and_other_weights_is_not_shared():
    own, other = (ViewSight(("lite0@32", "lite2@32"), "windows") for _ in range(2))
    for sight in (own, other):
        sight.retrained = ["lite2"]
        sight.backbones["lite2"] = backbones.load("lite2", tuned=True)
    with torch.no_grad():
        next(other.backbones["lite2"].parameters()).add_(1)
    assert other.regions_key() != own.regions_key()
    other.share(own)
    assert other.backbones["lite0"] is own.backbones["lite0"]
    assert other.backbones["lite2"] is not own.backbones["lite2"]


@pytest.mark.parametrize("view", ["lite0", "lite0@", "lite0@big", "lite0@8"])
def test_a_view_without_a_size_is_refused_with_how_it_is_written(view):
    with pytest.raises(ValueError, match="lite0@224"):
        ViewSight((view,), "windows")


def test_views_whose_features_differ_in_length_are_refused():
    with pytest.raises(ValueError, match="differ in length"):
        ViewSight(("lite0@32", "resnet18@32"), "windows")


def test_a_sight_of_cut_boxes_has_a_key_of_its_own():
    pooled, cut = (RegionSight("lite0", [64], "windows", False, crop) for crop in (0, 32))
    assert pooled.key() != cut.key()
    assert pooled.channels == cut.channels == 1280
    assert RegionSight("lite0", [32, 64], "windows", False, 32).channels == 1280


class Counting(Sight):
    """A sight with a count; its key is its name."""

    def __init__(self, name: str, tuned: bool = False) -> None:
        super().__init__()
        self.name, self.tuned, self.looks = name, tuned, 0

    def forward(self, images):
        self.looks += 1
        return [torch.full((2, 1), float(self.looks))], [torch.tensor([[0.0, 0.0, 1.0, 1.0]])]

    def key(self) -> str:
        return self.name


class Describes:
    def __init__(self, sight: Sight) -> None:
        self.sight = sight


def test_a_sight_looks_once():
    look, sight, other = Look(torch.zeros(3, 4, 4)), Counting("a"), Counting("b")
    first, again = look.by(sight), look.by(sight)
    look.by(other)
    assert first is again
    assert (sight.looks, other.looks) == (1, 1)


def test_equal_sights_become_one():
    own, captioner, regions = Counting("a"), Describes(Counting("a")), Describes(Counting("b"))
    third = Describes(Counting("b"))
    share_sight(own, captioner, None, regions, third)
    assert captioner.sight is own
    assert regions.sight is third.sight is not own


@pytest.mark.parametrize("tuned", [(True, False), (False, True)])
def test_a_tuned_sight_stays_alone(tuned):
    own, captioner = Counting("a", tuned[0]), Describes(Counting("a", tuned[1]))
    share_sight(own, captioner)
    assert captioner.sight is not own
