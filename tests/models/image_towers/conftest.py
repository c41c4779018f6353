import pytest
import torch

from models.types import PaddedBags


@pytest.fixture(scope="session")
def embed():
    """Makes an image tower's vectors (K, R, D) of photos."""

    @torch.inference_mode()
    def vectors(tower, photos):
        return tower(tower.precompute(PaddedBags.of(tower.sight(photos)[0]))).vectors

    return vectors
