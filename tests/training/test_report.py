import json

import pytest

from training import report


def measurement(seed: int, annotation: float, search: float) -> dict:
    def way(first: float) -> dict:
        return {"recall_1": first, "recall_5": 60.0, "recall_10": 70.0}

    grounding = {"localised": 30.0, "pointed": 50.0, "reachable": 58.0, "phrases": 13123}
    return {
        "preset": "tessera", "data": "flickr8k", "split": "val", "seed": seed,
        "retrieval": {"annotation": way(annotation), "search": way(search)},
        "grounding": grounding,
    }  # fmt: skip


def test_seeds_of_a_preset_share_a_row_of_means_and_ranges(tmp_path):
    for seed, (annotation, search) in enumerate([(30.0, 20.0), (32.0, 21.0), (34.0, 25.0)]):
        told = json.dumps(measurement(seed, annotation, search))
        (tmp_path / f"tessera-{seed}.json").write_text(told)
    page = report.report(*report.read(tmp_path))
    assert (
        "| tessera | flickr8k val | 3 | 32.0 / 60.0 / 70.0 | 22.0 / 60.0 / 70.0 "
        "| 30.0–34.0; 20.0–25.0 |"
    ) in page
    assert "| tessera | flickr8k val | 13,123 | 30.0 (of 58.0) | 50.0 |" in page
    assert "## Captions" not in page


def test_captions_have_their_own_table():
    captioner = {"name": "lstm", "data": "flickr8k", "split": "val", "bleu": [60, 40, 26, 17]}
    page = report.report([measurement(0, 30, 20)], [captioner])
    assert "| lstm | flickr8k val | 60.0 / 40.0 / 26.0 / 17.0 |" in page


def test_a_folder_without_measurements_is_refused(tmp_path):
    with pytest.raises(LookupError, match="evaluate --json"):
        report.read(tmp_path)
