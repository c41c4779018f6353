import pytest
import torch

from models.types import PaddedBags
from training.matchers.objectives import Match


@pytest.fixture
def matched():
    """A Match of scores alone, one sentence an image unless owners say otherwise."""

    def of(scores, owners=None, weights=None):
        K, L = scores.shape
        nothing = [PaddedBags.of([torch.zeros(1, 1)] * count) for count in (K, L)]
        owned = torch.arange(L) if owners is None else torch.tensor(owners)
        return Match(*nothing, owned, scores, weights=weights)

    return of
