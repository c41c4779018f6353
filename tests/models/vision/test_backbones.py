import pytest
import torch

from app import demos
from models.vision import backbones, images
from models.vision.backbones import squash


@pytest.fixture(scope="module")
def lite0():
    return backbones.load("lite0")


def test_packaged_weights_tell_photos_apart(lite0):
    plain = torch.full((1, 3, 64, 64), 127.0)
    striped = plain.clone()
    striped[..., ::8] = 255
    with torch.inference_mode():
        one, other = lite0(plain), lite0(striped)
    assert one.shape == (1, lite0.channels, 2, 2)
    assert one.min() >= 0
    assert one.max() <= 6  # ReLU6
    assert (one - other).abs().max() > 0.1


@pytest.mark.parametrize(("size", "cells"), [(96, 3), (224, 7)])
def test_a_cell_of_the_map_is_32_pixels(lite0, size, cells):
    with torch.inference_mode():
        assert lite0(torch.zeros(1, 3, size, size)).shape == (1, 1280, cells, cells)


@pytest.mark.parametrize("name", backbones.LITES)
@pytest.mark.parametrize(
    ("photo", "classes"),
    [("chelsea", {281, 282, 285}), ("coffee", {504, 967, 968})],
)
def test_the_packaged_classifiers_recognise_everyday_photos(name, photo, classes):
    file = demos.PHOTOS.folder / f"{photo}.jpg"
    pixels = images.decode(file.read_bytes()).pixels
    with torch.inference_mode():
        feature = backbones.load(name)(squash([pixels], 260)).mean((2, 3))
        assert backbones.classifier(name)(feature).argmax().item() in classes


def test_a_backbone_without_packaged_classifier_is_refused():
    with pytest.raises(ValueError, match="lite0, lite2"):
        backbones.classifier("resnet18")


@pytest.mark.parametrize(("name", "channels"), [("resnet18", 512), ("mobilenet_v3_small", 576)])
def test_torchvision_backbones_work_untrained(name, channels):
    backbone = backbones.load(name).eval()
    with torch.inference_mode():
        maps = backbone(torch.full((1, 3, 64, 96), 255.0))
    assert backbone.channels == channels
    assert maps.shape == (1, channels, 2, 3)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lite1", "use lite0"),
        ("", "use lite0"),
        ("fcn_resnet50", "use lite0"),  # a segmenter, no classifier
        ("resnet18:IMAGENET", "IMAGENET1K_V1, DEFAULT"),
        ("shufflenet_v2_x0_5", "no feature maps"),
    ],
)
def test_an_unknown_backbone_is_refused_with_what_would_work(name, said):
    with pytest.raises(ValueError, match=said):
        backbones.load(name)


def test_squashed_photos_are_one_batch_in_the_range_of_bytes(photos):
    batch = squash(photos, 32)
    assert batch.shape == (3, 3, 32, 32)
    assert batch.min() >= 0
    assert batch.max() <= 255


def test_squashing_keeps_a_plain_colour_and_the_sides_apart():
    photo = torch.zeros(3, 20, 60, dtype=torch.uint8)
    photo[0, :, 30:] = 200
    (small,) = squash([photo], 8)
    assert small[1:].abs().max() == 0
    assert small[0, :, :2].max() < 1
    assert (small[0, :, -2:] - 200).abs().max() < 1
