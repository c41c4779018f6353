import pytest
import torch

from models import backbones

openvino = pytest.importorskip("openvino")


@pytest.fixture
def by_openvino():
    backbones.choose_engine("openvino")
    yield backbones.load("lite2")
    backbones.choose_engine("torch")


@pytest.mark.parametrize("size", [64, 97])
def test_openvino_gives_the_maps_that_torch_gives(by_openvino, size):
    torch.manual_seed(0)
    photos = torch.randint(0, 256, (3, 3, size, size)).float()  # more than one pass
    assert by_openvino.compiled
    assert not backbones.load("lite2", tuned=True).compiled
    with torch.inference_mode():
        maps = by_openvino.pyramid(photos)
        by_openvino.compiled = None
        for fast, plain in zip(maps, by_openvino.pyramid(photos), strict=True):
            torch.testing.assert_close(fast, plain, rtol=1e-4, atol=1e-4)


def test_gradients_are_torchs(by_openvino):
    photos = torch.zeros(1, 3, 64, 64, requires_grad=True)
    by_openvino(photos).sum().backward()
    assert photos.grad is not None


def test_an_engine_that_is_not_there_is_told(monkeypatch):
    with pytest.raises(ValueError, match="no engine 'tensorrt'; there are: torch, openvino"):
        backbones.choose_engine("tensorrt")
    monkeypatch.setitem(__import__("sys").modules, "openvino", None)
    backbones.openvino.library.cache_clear()
    with pytest.raises(LookupError, match="pip install 'tessera\\[openvino\\]'"):
        backbones.choose_engine("openvino")
