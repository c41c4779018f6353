"""Inference: what runs frozen networks on a CPU in this process, torch or OpenVINO."""

from __future__ import annotations

import importlib.util
import logging
from functools import cache
from typing import Any

from models import extras

INFERENCES = ("auto", "torch", "openvino")
chosen = "torch"  # for networks that are loaded from now on

log = logging.getLogger("tessera")


def choose(name: str) -> None:
    """Run networks that are loaded later by another library, on a CPU.

    With "auto" by openvino where it is installed. LookupError for openvino where it is not,
    ValueError for a name not in INFERENCES.
    """
    global chosen  # of the process, as torch's number of threads is
    if name not in INFERENCES:
        raise ValueError(f"unknown inference {name!r}; there are: {', '.join(INFERENCES)}")
    if name == "auto":
        name = "openvino" if works() else "torch"
    elif name == "openvino":
        library()
    chosen = name


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
    try:
        import openvino
        import openvino.opset15
    except ImportError as missing:
        raise LookupError(
            f"openvino is not installed: {extras.install('openvino')}, or choose torch"
        ) from missing
    return openvino
