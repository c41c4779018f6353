"""torch without a GPU: imported without preloading CUDA's libraries."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from app.settings import Settings

PACKAGES = f"{os.sep}nvidia{os.sep}"  # a folder of site-packages: CUDA's libraries


def import_torch(settings: Settings) -> None:
    """Import torch once; on a CPU, without the libraries of GPUs.

    torch preloads every installed CUDA, and FAISS's package for GPUs brings another version: 214 MB
    (decision 0021). Its threads spin for milliseconds after each product, on processors that
    searches need; only where torch runs the networks of photos that pays.
    """
    if "torch" in sys.modules:
        return
    if settings.device != "cpu":
        import torch

        return
    if settings.inference != "torch" and find_spec("openvino") is not None:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    with _hidden_packages():
        import torch  # noqa: F401


def create_app(settings: Settings) -> FastAPI:
    """See app.main.create_app, for a new process."""
    import_torch(settings)
    from app import main

    return main.create_app(settings)


@contextmanager
def _hidden_packages() -> Iterator[None]:
    """Hide CUDA's libraries from torch's preloading within the context."""
    find_files = glob.glob

    def without(pattern: str, **options: object) -> list[str]:
        return [] if PACKAGES in pattern else find_files(pattern, **options)  # type: ignore[arg-type]

    glob.glob = without  # type: ignore[assignment]  # of texts alone, as torch calls it
    try:
        yield
    finally:
        glob.glob = find_files
