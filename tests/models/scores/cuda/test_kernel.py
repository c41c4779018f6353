"""Kernels of GPUs compile for each generation, and errors are clear."""

from __future__ import annotations

import pytest

from models.scores.cuda import kernel
from models.scores.cuda.kernel import Kernel, KernelShape

pytest.importorskip("cuda.bindings", reason="needs NVRTC, which torch with CUDA brings")
GENERATIONS = [(8, 0), (9, 0), (12, 0)]


@pytest.mark.parametrize("capability", GENERATIONS, ids=str)
@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("positives", [True, False])
def test_kernels_compile(capability: tuple[int, int], images: bool, positives: bool) -> None:
    for tiles, size in ((1, 256), (5, 1152)):
        shape = KernelShape.of(tiles, size, images=images, positives=positives)
        image, names = kernel.compile_for(shape, capability)
        assert image[:4] == b"\x7fELF"
        assert all(name in image for name in names)


def test_what_does_not_compile_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "read_source", lambda: "float3")
    shape = KernelShape.of(1, 64, images=True, positives=False)
    with pytest.raises(RuntimeError, match=r"NVRTC_ERROR_\w+: (.|\n)*score_images"):
        kernel.compile_for.__wrapped__(shape, (9, 0))


def test_old_gpus_are_refused() -> None:
    shape = KernelShape.of(1, 64, images=True, positives=False)
    with pytest.raises(RuntimeError, match=r"compute capability 8\.0 is needed, this has 7\.5"):
        Kernel(shape, (7, 5), processors=40)


def test_queries_stay_in_registers_while_they_fit() -> None:
    assert KernelShape.of(2, 256, images=True, positives=False)[3:] == (2, True)
    assert KernelShape.of(2, 512, images=True, positives=False)[3:] == (2, False)
    assert KernelShape.of(3, 128, images=True, positives=False)[3:] == (1, False)
    assert KernelShape.of(4, 256, images=False, positives=False)[3:] == (4, True)
    assert KernelShape.of(1, 640, images=False, positives=False)[3:] == (1, False)
