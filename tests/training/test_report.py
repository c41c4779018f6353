import pytest

from training import report


def direction(first: float) -> dict:
    return {"recall_1": first, "recall_5": 60.0, "recall_10": 70.0, "median_rank": 3.0}


def a_run(seed: int, annotation: float, search: float) -> dict:
    best = {"annotation": direction(annotation), "search": direction(search)}
    worse = {"annotation": direction(0.0), "search": direction(0.0)}
    return {
        "preset": {"name": "tessera"},
        "seed": seed,
        "data": {"name": "flickr8k"},
        "epochs": [
            {"recall_sum": 300.0, "validation": best},
            {"recall_sum": 200.0, "validation": worse},
        ],
    }


EVALUATED = {
    "preset": "tessera",
    "seed": 1,
    "checkpoint": "ab12",
    "data": "flickr8k",
    "split": "val",
    "retrieval": {"annotation": direction(35.0), "search": direction(27.0)},
    "grounding": {"localised": 30.0, "pointed": 50.0, "reachable": 58.0, "phrases": 13123},
}


def test_seeds_of_a_preset_share_a_row_of_their_best_epochs():
    page = report.report([a_run(0, 30, 20), a_run(1, 32, 21), a_run(2, 34, 25)])
    assert (
        "| tessera | flickr8k val | 3 | 32.0 / 60.0 / 70.0 | 22.0 / 60.0 / 70.0 "
        "| 30.0–34.0; 20.0–25.0 |"
    ) in page
    assert "## Checkpoints" not in page


def test_a_checkpoint_is_told_by_its_fingerprint():
    page = report.report([EVALUATED])
    checkpoint = "| tessera, seed 1, ab12 | flickr8k val |"
    assert f"{checkpoint} 35.0 / 60.0 / 70.0 | 27.0 / 60.0 / 70.0 | 3, 3 |" in page
    assert f"{checkpoint} 13,123 | 30.0 (of 58.0) | 50.0 |" in page
    assert "## Trainings" not in page


def test_captions_have_their_own_table():
    captioner = {"name": "lstm", "checkpoint": "cd34", "data": "flickr8k", "split": "val"}
    page = report.report([captioner | {"bleu": [60, 40, 26, 17]}])
    assert "| lstm cd34 | flickr8k val | 60.0 / 40.0 / 26.0 / 17.0 |" in page


def test_a_folder_without_measurements_is_refused(tmp_path):
    with pytest.raises(LookupError, match="evaluate --json"):
        report.read(tmp_path)
