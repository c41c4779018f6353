"""Headers of checkpoint files: their descriptions, read without the weights."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open


class UnfitModel(RuntimeError):
    """Weights unfit for their model, or changed after the start."""


def read(path: Path) -> dict[str, Any]:
    """A checkpoint's description: kind, name, config, facts.

    Raises LookupError for a missing file, ValueError for a file that is no checkpoint.
    """
    if path.is_dir():
        raise LookupError(f"{path} is a folder: name a checkpoint, {_name_inside(path)}")
    if not path.is_file():
        raise LookupError(f"no checkpoint at {path}; `tessera models` lists the ones that ship")
    try:
        with safe_open(path, framework="np") as file:
            described = json.loads((file.metadata() or {}).get("tessera", "null"))
    except SafetensorError as broken:
        raise ValueError(f"{path} is not a safetensors file: {broken}") from broken
    if not isinstance(described, dict):
        raise ValueError(f"{path} holds tensors but no Tessera description; train it with tessera")
    return described


def _name_inside(folder: Path) -> str:
    """Name the newest checkpoint in a folder, or an example."""
    inside = sorted(folder.glob("*.safetensors"), key=lambda file: file.stat().st_mtime)
    return f"such as {inside[-1]}" if inside else "a file that ends in .safetensors"


def fingerprint(path: Path) -> str:
    """Sixteen digits of the SHA-256 of a checkpoint file, before its calibration."""
    calibrated = read(path).get("fingerprint")
    if calibrated is not None:
        return str(calibrated)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
