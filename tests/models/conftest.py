import pytest
import torch


@pytest.fixture(scope="session")
def photos():
    """Three noisy photos of different shapes."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 50, 80), (3, 64, 64), (3, 90, 40)]
    return [torch.randint(0, 256, s, dtype=torch.uint8, generator=generator) for s in shapes]
