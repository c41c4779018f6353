import json

import pytest
import torch
from PIL import Image

from models.types import Box
from training.report import drawing, pictures, run_pictures
from training.report.examples import Row, Shown, draw
from training.report.measurements import SHIPPED


def way(first: float) -> dict:
    """One direction's results."""
    return {"recall_1": first, "recall_5": 60.0, "recall_10": 70.0, "median_rank": 3.0,
            "mean_rank": 9.0}  # fmt: skip


def run(preset: str, seed: int, first: float) -> dict:
    """A run of a preset, with the terms of its loss by epoch."""
    terms = [{"fragments": 2.1, "ranking": 900.0}, {"fragments": 1.1, "ranking": 90.0}]
    return {
        "preset": {"name": preset, "objectives": [{"name": "fragments"}],
                   "schedule": {"epochs": 2}},
        "seed": seed,
        "data": {"name": "flickr8k"},
        "epochs": [{"validation": {"annotation": way(first), "search": way(first)}}],
        "curve": [{"terms": values} for values in terms],
    }  # fmt: skip


def test_measurements_become_pictures_with_their_text(tmp_path):
    bins = [{"probability": 0.2, "share": 0.3}, {"probability": 0.8, "share": 0.7}]
    calibration = {"weak_below": 0.1, "checkpoint": "ab",
                   "reliability": {"flickr8k val": {"error": 0.1, "bins": bins}}}  # fmt: skip
    runs = [run("two-branch", seed, 30.0 + seed) for seed in (0, 1)]
    runs += [run("two-branch-mean", seed, 20.0 + 2 * seed) for seed in (0, 1)]
    rows = [*runs, {"name": SHIPPED, "checkpoint": "ab"}, calibration]
    lines = pictures.write_pictures(rows, tmp_path / "results")
    names = ("claims", "recalls", "terms", "reliability")
    assert [f"results/{name}.svg" in "\n".join(lines) for name in names] == [True] * 4
    texts = [(tmp_path / "results" / f"{name}.svg").read_text() for name in names]
    assert "Fisher vectors beat mean vectors" in texts[0]
    assert "two-branch (2)" in texts[1]
    assert "flickr8k val, error 0.100" in texts[3]


def test_the_same_measurements_give_the_same_files(tmp_path):
    rows = [run("two-branch", seed, 30.0 + seed) for seed in (0, 1)]
    for folder in ("one", "other"):
        pictures.write_pictures(rows, tmp_path / folder)
    one, other = ((tmp_path / name / "recalls.svg").read_bytes() for name in ("one", "other"))
    assert one == other


def test_nothing_measured_is_no_picture(tmp_path):
    assert pictures.write_pictures([{"bleu": [1, 2, 3, 4]}], tmp_path) == []
    assert not list(tmp_path.iterdir())


def test_a_run_s_curves_are_drawn_from_its_epochs(tmp_path):
    epochs = [
        {"epoch": epoch, "loss": 3.0 / epoch, "recall_sum": 100.0 * epoch,
         "terms": {"fragments": 2.0, "ranking": 400.0 / epoch}}
        for epoch in (1, 2, 3)
    ]  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps({"epochs": epochs}))
    file = run_pictures.draw_history(tmp_path)
    assert file is not None
    with Image.open(file) as picture:
        assert (picture.format, picture.width) == ("PNG", int(drawing.WIDTH * 120))
    (tmp_path / "run.json").write_text(json.dumps({"epochs": epochs[:1]}))
    assert run_pictures.draw_history(tmp_path) is None


def test_right_photos_have_a_green_frame_and_boxes_are_drawn(tmp_path):
    grey = torch.full((3, 40, 40), 128, dtype=torch.uint8)
    shown = [Shown(grey, "1. a", right=True), Shown(grey, "2. b", Box(0.1, 0.1, 0.6, 0.6))]
    file = draw([Row("a query", shown)], tmp_path / "examples.png")
    with Image.open(file) as picture:
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1_000_000)}
    for drawn in (drawing.COLOURS[2], drawing.COLOURS[1]):
        assert tuple(bytes.fromhex(drawn[1:])) in colours


def test_examples_may_be_a_webp(tmp_path):
    grey = torch.full((3, 40, 40), 128, dtype=torch.uint8)
    with Image.open(draw([Row("a query", [Shown(grey, "1. a")])], tmp_path / "a.webp")) as picture:
        assert picture.format == "WEBP"


def test_without_matplotlib_the_way_to_get_it_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(LookupError, match="make install EXTRAS=train"):
        drawing.new_figure(1.0)
