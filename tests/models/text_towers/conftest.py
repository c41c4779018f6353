import pytest
import torch

from models.types import FragmentBag, PaddedBags


@pytest.fixture(scope="session")
def embed():
    """Makes a text tower's bags of texts."""

    @torch.inference_mode()
    def bags(tower, texts):
        inputs, places = tower.reader(texts)
        encoded = tower(tower.precompute(PaddedBags.of(inputs)))
        return [
            FragmentBag(vectors[real], tuple(s for _, s in own), tuple(label for label, _ in own))
            for vectors, real, own in zip(encoded.vectors, encoded.mask, places, strict=True)
        ]

    return bags
