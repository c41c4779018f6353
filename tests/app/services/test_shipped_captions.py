"""Shipped captions of no photos are guesses, without persons."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from app.engine.descriptions import describe
from app.engine.inference import Models
from models import shipped
from models.registry import Generation
from models.vision import images

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models() -> Models:
    return Models.load(shipped.MATCHER, shipped.CAPTIONER, None, shipped.REGION_CAPTIONER)


def described(models: Models, picture: Image.Image, regions: int = 0):
    file = BytesIO()
    picture.save(file, "PNG")
    return describe(models, images.read(file.getvalue()), Generation(), regions=regions)


def pictures() -> dict[str, Image.Image]:
    noise = np.random.default_rng(0).integers(0, 256, (240, 320, 3), dtype=np.uint8)
    ramp = np.tile(np.linspace(0, 255, 320).astype(np.uint8), (240, 1))
    return {
        "noise": Image.fromarray(noise),
        "gradient": Image.fromarray(ramp).convert("RGB"),
        "white": Image.new("RGB", (320, 240), "white"),
        "red": Image.new("RGB", (320, 240), (220, 20, 20)),
    }


def test_the_captioner_was_calibrated_with_the_matcher_that_ships(models: Models) -> None:
    assert models.calibrated is not None
    assert models.unsure_below == models.calibrated.unsure_below != models.weak_below


@pytest.mark.parametrize("name", pictures())
def test_a_caption_of_what_is_no_photo_is_a_guess_without_persons(
    models: Models, name: str
) -> None:
    found = described(models, pictures()[name], regions=12)
    (caption,) = found.captions
    assert caption.unsure(models.unsure_below)
    words = {word.text.lower() for word in caption.words}
    words |= {word for one in found.regions for word in one.caption.text.lower().split()}
    assert not words & {"man", "woman", "person", "people", "boy", "girl", "dog"}
