"""EfficientNet-Lites as OpenVINO runs them on a CPU, for the extra `openvino` (decision 0022).

The same products and sums as torch's in another order, so maps agree to some millionths.
"""

from __future__ import annotations

import copy
import importlib.util
import logging
import sys
from collections.abc import Iterable
from functools import cache, cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import torch
from torch import Tensor, nn

from models import extras

if TYPE_CHECKING:
    from models.vision.lite import Lite


log = logging.getLogger("tessera")


class CompiledPyramid:
    """Lite.pyramid by OpenVINO; threads take turns."""

    def __init__(self, layers: nn.Sequential, fine: int) -> None:
        """The first `fine` layers make the finer of the two maps."""
        openvino = library()
        pixels = openvino.opset15.parameter([-1, 3, -1, -1], np.float32)
        scaled = openvino.opset15.multiply(
            openvino.opset15.subtract(pixels, np.float32(127.0)), np.float32(1 / 128)
        )
        maps = [translate(layers[:fine], scaled)]
        maps.append(translate(layers[fine:], maps[0]))
        options = {
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "INFERENCE_PRECISION_HINT": "f32",
            "NUM_STREAMS": 1,
        }
        model = openvino.Model(maps, [pixels])
        self.request = openvino.Core().compile_model(model, "CPU", options).create_infer_request()
        self.lock = Lock()
        compiled_pyramids.add(self)

    def __call__(self, pixels: Tensor) -> tuple[Tensor, ...]:
        """The maps (B, C, S/16, S/16) and (B, C', S/32, S/32) of photos (B, 3, S, S)."""
        photos = pixels.float().contiguous().numpy()
        with self.lock:
            self.request.infer([photos])
            maps = [np.array(self.request.get_output_tensor(at).data) for at in range(2)]
        return tuple(map(torch.from_numpy, maps))

    def release(self) -> None:
        """Free the memory between its layers until the next photos."""
        with self.lock:
            self.request.get_compiled_model().release_memory()


compiled_pyramids = WeakSet[CompiledPyramid]()


class DeferredPyramid:
    """A CompiledPyramid at first use: a checkpoint may still change the weights."""

    def __init__(self, network: Lite) -> None:
        self.network = network

    @cached_property
    def compiled(self) -> CompiledPyramid:
        """The pyramid of the network's current weights."""
        return CompiledPyramid(self.network.layers, self.network.fine)

    def __deepcopy__(self, memo: dict[int, Any]) -> DeferredPyramid:
        """A pyramid of the copied network with its own weights."""
        return DeferredPyramid(copy.deepcopy(self.network, memo))

    def __call__(self, pixels: Tensor) -> tuple[Tensor, ...]:
        """The maps of the CompiledPyramid."""
        return self.compiled(pixels)


class SharedPyramid(DeferredPyramid):
    """The pyramid of a packaged network; copies share it with the weights."""

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedPyramid:
        """Itself: frozen weights are shared."""
        return self


def release() -> None:
    """Free the memory of all networks between photos, tens of MB each."""
    for pyramid in tuple(compiled_pyramids):
        pyramid.release()


def works() -> bool:
    """Return whether the package openvino is installed, and loads."""
    if importlib.util.find_spec("openvino") is None:
        return False
    try:
        library()
    except LookupError as broken:
        log.warning("openvino is there, and does not load (%s): torch computes", broken.__cause__)
        return False
    return True


@cache
def library() -> Any:
    """The package openvino; LookupError with the way to install it."""
    # Without it OpenVINO has a stub; with it each import is reported to Google Analytics.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # import's own way
    try:
        import openvino
        import openvino.opset15
    except ImportError as missing:
        raise LookupError(
            f"openvino is not installed: {extras.install('openvino')}, or choose torch"
        ) from missing
    # Its binding to numpy is made at first use: two threads at once would stop the process forever.
    np.asarray(openvino.Tensor(np.zeros(1, np.float32)).data)
    return openvino


def translate(layers: Iterable[nn.Module], x: Any) -> Any:
    """The output of a folded Lite's layers as a node of OpenVINO's."""
    ops = library().opset15
    for layer in layers:
        match layer:
            case nn.Conv2d():
                x = convolution(layer, x)
            case nn.ReLU6():
                x = ops.clamp(x, 0.0, 6.0)
            case nn.Sequential():
                x = translate(layer, x)
            case nn.Identity():
                pass
            case _:  # an inverted residual
                body = translate(layer.body, x)  # type: ignore[arg-type]
                x = ops.add(x, body) if layer.residual else body
    return x


def convolution(layer: nn.Conv2d, x: Any) -> Any:
    """A convolution with TensorFlow's SAME padding, over all channels or each alone."""
    ops = library().opset15
    weight = layer.weight.detach().contiguous().numpy()
    assert layer.bias is not None
    bias = layer.bias.detach().reshape(1, -1, 1, 1).numpy()
    options = [*layer.stride], [0, 0], [0, 0], [1, 1], "same_upper"
    if layer.groups == 1:
        return ops.add(ops.convolution(x, weight, *options), bias)
    grouped = weight.reshape(layer.groups, -1, *weight.shape[1:])
    return ops.add(ops.group_convolution(x, grouped, *options), bias)
