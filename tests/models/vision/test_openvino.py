import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from models.vision import backbones


@pytest.fixture
def by_openvino():
    pytest.importorskip("openvino")
    backbones.choose_inference("openvino")
    try:
        yield backbones.load("lite2")
    finally:
        backbones.choose_inference("torch")


@pytest.mark.parametrize("size", [64, 97])
def test_openvino_gives_the_maps_that_torch_gives(by_openvino, size):
    torch.manual_seed(0)
    photos = torch.randint(0, 256, (3, 3, size, size)).float()  # more than one pass
    assert by_openvino.compiled
    assert not backbones.load("lite2", tuned=True).compiled
    with torch.inference_mode():
        maps = by_openvino.pyramid(photos)
        by_openvino.compiled = None
        for quick, plain in zip(maps, by_openvino.pyramid(photos), strict=True):
            torch.testing.assert_close(quick, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("by_openvino")
def test_a_network_that_was_tuned_is_compiled_with_the_weights_that_a_checkpoint_brings():
    network = backbones.load("lite2-sentences")
    with torch.no_grad():
        network.layers[0].weight.mul_(0.5)  # as a matcher's checkpoint may
    copied = copy.deepcopy(network)
    photo = torch.randint(0, 256, (1, 3, 64, 64)).float()
    with torch.inference_mode():
        maps, of_copy = network.pyramid(photo), copied.pyramid(photo)
        network.compiled = None
        for quick, again, plain in zip(maps, of_copy, network.pyramid(photo), strict=True):
            torch.testing.assert_close(quick, plain, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(again, plain, rtol=1e-4, atol=1e-4)


def test_threads_take_turns_with_it(by_openvino):
    torch.manual_seed(0)
    photos = torch.randint(0, 256, (8, 1, 3, 64, 64)).float()

    def coarse(photo):
        with torch.inference_mode():
            return by_openvino(photo)

    alone = [coarse(photo) for photo in photos]
    with ThreadPoolExecutor(4) as threads:
        for together, expected in zip(threads.map(coarse, photos), alone, strict=True):
            torch.testing.assert_close(together, expected)


def test_after_its_memory_was_released_it_gives_the_same(by_openvino, monkeypatch):
    photo, released = torch.randint(0, 256, (1, 3, 64, 64)).float(), []
    with torch.inference_mode():
        maps = by_openvino.pyramid(photo)
        kind = type(backbones.defer_pyramid("lite2").compiled.request.get_compiled_model())
        release = kind.release_memory
        monkeypatch.setattr(kind, "release_memory", lambda model: released.append(release(model)))
        backbones.openvino.release()
        assert len(released) == len(backbones.openvino.compiled_pyramids) > 0
        for again, before in zip(by_openvino.pyramid(photo), maps, strict=True):
            torch.testing.assert_close(again, before, rtol=0, atol=0)


def test_where_gradients_are_wanted_torch_computes(by_openvino):
    def refused(pixels):
        raise AssertionError("no gradient comes through OpenVINO")

    by_openvino.compiled = refused
    assert by_openvino(torch.zeros(1, 3, 64, 64)).shape == (1, by_openvino.channels, 2, 2)


@pytest.mark.parametrize("installed", [True, False])
def test_it_is_chosen_by_itself_where_it_is_installed(monkeypatch, installed):
    monkeypatch.setattr(backbones, "inference", "torch")
    if not installed:  # a folder that is left of it
        monkeypatch.setitem(__import__("sys").modules, "openvino.opset15", None)
    backbones.openvino.library.cache_clear()
    backbones.choose_inference("auto")
    backbones.openvino.library.cache_clear()
    assert backbones.inference == ("openvino" if installed else "torch")
    assert bool(backbones.load("lite0").compiled) == installed


def test_copies_of_a_packaged_network_are_compiled_once(by_openvino):
    other = backbones.load("lite2")
    assert other.compiled is by_openvino.compiled
    assert copy.deepcopy(other).compiled is by_openvino.compiled


def test_an_unknown_inference_is_named(monkeypatch):
    with pytest.raises(
        ValueError, match="unknown inference 'tensorrt'; there are: auto, torch, openvino"
    ):
        backbones.choose_inference("tensorrt")
    monkeypatch.setitem(__import__("sys").modules, "openvino", None)
    backbones.openvino.library.cache_clear()
    with pytest.raises(LookupError, match="make install EXTRAS=openvino"):
        backbones.choose_inference("openvino")
