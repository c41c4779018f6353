"""Models are loaded when they are first asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from app.engine.inference import Models
from models import checkpoint, header, shipped
from models.header import UnfitModel
from models.registry import Generation


@pytest.fixture
def unfit(tmp_path: Path) -> Path:
    """The captioner of regions without one of its weights."""
    state, described = load_file(shipped.REGION_CAPTIONER), header.read(shipped.REGION_CAPTIONER)
    del state["language.out.bias"]
    checkpoint.write(path := tmp_path / "unfit.safetensors", state, described)
    return path


def test_what_nobody_asks_for_is_not_loaded(small_matcher: Path) -> None:
    models = Models.load(
        small_matcher, None, shipped.GROUNDER, shipped.REGION_CAPTIONER, device="cpu"
    )
    assert {"captioner", "region_captioner", "grounder"}.isdisjoint(vars(models))
    assert models.captioner is None
    (described,) = models.region_captioner.describe([torch.rand(1, 1280)], Generation(beam=1))
    assert described[0].words
    assert models.region_captioner is models.checkpoints["region_captioner"].model
    assert models.grounder is models.checkpoints["grounder"].model


def test_a_missing_file_is_warned_of_unless_it_is_called_none(
    small_matcher: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    models = Models.load(small_matcher, Path("none"), tmp_path / "gone", tmp_path)
    assert (models.captioner, models.grounder, models.region_captioner) == (None, None, None)
    assert [record.getMessage() for record in caplog.records] == [
        f"there is no grounder: TESSERA_GROUNDER names no file, {tmp_path / 'gone'}",
        f"there is no region captioner: TESSERA_REGION_CAPTIONER names no file, {tmp_path}",
    ]


def test_captioners_of_whole_photos_are_refused_for_regions_at_once(small_matcher: Path) -> None:
    with pytest.raises(ValueError, match="attentive describes whole photos alone"):
        Models.load(small_matcher, region_captioner=shipped.CAPTIONER)


def test_captioners_with_equal_sights_share_them(small_matcher: Path) -> None:
    models = Models.load(
        small_matcher, shipped.REGION_CAPTIONER, None, shipped.REGION_CAPTIONER, device="cpu"
    )
    assert models.captioner is not models.region_captioner
    assert models.captioner.sight is models.region_captioner.sight


def test_weights_that_do_not_fit_are_no_mistake_of_the_caller(
    small_matcher: Path, unfit: Path
) -> None:
    models = Models.load(small_matcher, region_captioner=unfit)
    for _ in range(2):
        with pytest.raises(UnfitModel, match=r"the region captioner cannot be loaded: .*lacks"):
            _ = models.region_captioner
