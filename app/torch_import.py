"""torch without a GPU: imported without preloading CUDA's libraries."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from app import memory

if TYPE_CHECKING:
    from fastapi import FastAPI

    from app.settings import Settings

PACKAGES = f"{os.sep}nvidia{os.sep}"  # a folder of site-packages: CUDA's libraries


def import_torch(device: str) -> None:
    """Import torch once; on a CPU, without the libraries of GPUs.

    torch preloads every installed CUDA, and FAISS's package for GPUs brings another version: 214 MB
    (decision 0021).
    """
    memory.collect_seldom()
    if "torch" in sys.modules:
        return
    if device != "cpu":
        import torch

        return
    with _hidden_packages():
        import torch  # noqa: F401


def create_app(settings: Settings) -> FastAPI:
    """See app.main.create_app, for one of several processes.

    While it loads, the others get the requests.
    """
    import_torch(settings.device)
    from app import main

    return main.create_app(settings, load_first=True)


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
