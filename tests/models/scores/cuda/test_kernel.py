"""Kernels of GPUs compile for each generation, and errors are clear."""

from __future__ import annotations

import pytest

from models.scores.cuda import kernel
from models.scores.cuda.kernel import Kernel, KernelShape

GENERATIONS = [(8, 0), (9, 0), (12, 0)]


@pytest.fixture
def nvrtc() -> None:
    """NVRTC of a torch with CUDA."""
    pytest.importorskip("cuda.bindings.nvrtc")


@pytest.mark.parametrize("capability", GENERATIONS, ids=str)
@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("positives", [True, False])
def test_kernels_compile(
    capability: tuple[int, int], images: bool, positives: bool, nvrtc: None
) -> None:
    for vectors, size in ((8, 256), (100, 1152)):
        shape = KernelShape.of(vectors, size, images=images, positives=positives)
        image, names = kernel.compile_for(shape, capability)
        assert image[:4] == b"\x7fELF"
        assert all(name in image for name in names)


def test_what_does_not_compile_says_why(monkeypatch: pytest.MonkeyPatch, nvrtc: None) -> None:
    monkeypatch.setattr(kernel, "read_source", lambda: "float3")
    shape = KernelShape.of(1, 64, images=True, positives=False)
    with pytest.raises(RuntimeError, match=r"NVRTC_ERROR_\w+: (.|\n)*score_images"):
        kernel.compile_for(shape, (9, 0))


def test_old_gpus_are_refused(nvrtc: None) -> None:
    shape = KernelShape.of(1, 64, images=True, positives=False)
    with pytest.raises(RuntimeError, match=r"compute capability 8\.0 is needed, this has 7\.5"):
        Kernel(shape, (7, 5), processors=40)


def test_queries_stay_in_registers_while_they_fit() -> None:
    def chosen(vectors: int, size: int, *, images: bool) -> tuple[int, bool]:
        shape = KernelShape.of(vectors, size, images=images, positives=False)
        return shape.tiles, shape.held

    assert chosen(17, 256, images=True) == (2, True)
    assert chosen(17, 512, images=True) == (2, False)
    assert chosen(33, 128, images=True) == (1, False)
    assert chosen(32, 256, images=False) == (4, True)
    assert chosen(33, 256, images=False) == (4, False)
    assert chosen(8, 640, images=False) == (1, False)
