import pytest
import torch

from models.encoders.photos import Preparation, patch_weights
from models.types import WHOLE_FRAME, Box
from tests import encoders


def test_a_squashed_photo_is_seen_whole():
    assert Preparation.of(encoders.folder("siglip")).visible_part(50, 80) == WHOLE_FRAME


def test_a_cropped_photo_is_seen_in_its_middle():
    # 60 × 100 becomes 48 × 80, of which 48 × 48 from column 16 on.
    seen = Preparation.of(encoders.folder("clip")).visible_part(60, 100)
    assert seen == Box(0.2, 0.0, 0.8, 1.0)


def test_what_is_seen_of_a_tall_photo_is_where_its_pixels_are():
    prepare = Preparation.of(encoders.folder("clip"))
    photo = torch.zeros(3, 200, 50, dtype=torch.uint8)
    photo[:, 100:125] = 255  # a white bar
    (pixels,) = prepare([photo])
    white = (pixels.mean((0, 2)) > 0).nonzero()[:, 0]
    seen = prepare.visible_part(200, 50)
    top, bottom = ((edge - seen.top) / (seen.bottom - seen.top) * 48 for edge in (0.5, 0.625))
    assert white.min() == pytest.approx(top, abs=1)
    assert white.max() + 1 == pytest.approx(bottom, abs=1)


def test_patches_weigh_as_much_as_lies_in_the_box():
    seen = Box(0.2, 0.0, 0.8, 1.0)
    boxes = torch.tensor([[0.2, 0.0, 0.5, 1.0], [0.0, 0.0, 0.2, 1.0], [0.0, 0.25, 1.0, 0.5]])
    expected = torch.tensor([[1.0, 0, 1, 0], [0, 0, 0, 0], [0.5, 0.5, 0, 0]])
    torch.testing.assert_close(patch_weights(boxes, seen, 2, 2), expected)
