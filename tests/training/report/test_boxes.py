import pytest

from training.report.boxes import CLAIMS, PUBLISHED, sections
from training.runs.presets import list_names


def row(preset="ranking", seed=0, first=40.0):
    recalls = {"recall_1": first, "recall_5": 70.0, "recall_10": 80.0, "bound": 83.7}
    boxes = recalls | {"pointed": 65.0, "mean_precision": first + 5, "phrases": 13123}
    grounder = {"name": "two_branch", "preset": f"two_branch, {preset}", "seed": seed}
    measured = {"checkpoint": f"c{seed}", "data": "flickr8k", "split": "val", "grounding": boxes}
    return grounder | measured


def rows(*measured):
    return [line for line in sections(measured) if line.startswith("| ")]


def test_seeds_of_a_grounder_are_one_row_beside_the_published_one():
    assert rows(row(), row(seed=1, first=42.0))[1] == (
        "| two_branch, ranking | flickr8k val | 2 | 13,123 | 41.0 / 70.0 / 80.0 (of 83.7) | 65.0 "
        "| 46.0 (45.0–47.0) | 35.8 / 60.5 / 66.7 | 40.5 |"
    )


def test_a_matcher_is_named_by_its_checkpoint_and_has_nothing_published():
    named = {"name": "tessera", "preset": "tessera", "seed": "0 + 1", "checkpoint": "ab12"}
    matcher = row() | named
    assert len(rows(matcher, matcher)) == 3  # measured twice, say with links as well
    taken = rows(row() | named | {"preset": "mined"}, row())  # a preset's name is no architecture
    assert len(taken) == 3
    assert rows(matcher)[1] == (
        "| tessera, seed 0 + 1, ab12 | flickr8k val | – | 13,123 | 40.0 / 70.0 / 80.0 (of 83.7) "
        "| 65.0 | 45.0 | – | – |"
    )


def test_a_claim_is_told_by_the_seeds_that_both_presets_have():
    better = [row("mined", seed, 50.0 + seed) for seed in range(3)]
    page = rows(row(), row(seed=1), *better)
    assert (
        "| hard negatives help | mined − ranking | 2 | +10.5 ± 6.4 | +10.5 ± 6.4 | holds |"
    ) in page
    assert "| hard negatives beat CCA | mined-both − cca | 0 | – | – | not measured |" in page
    elsewhere = [one | {"data": "other"} for one in better]
    assert not any("claim" in line for line in rows(row(), *elsewhere))  # of other photos


def test_two_files_of_one_seed_are_refused():
    with pytest.raises(ValueError, match="ranking on flickr8k val with the same seed"):
        sections([row(), row()])
    elsewhere = row() | {"trained_on": "flickr30k"}
    assert (
        "| two_branch, ranking, trained on flickr30k | flickr8k val | 1 "
        in rows(row(), elsewhere)[2]
    )


def test_nothing_measured_is_no_section():
    assert sections([{"bleu": [1, 2, 3, 4]}, row() | {"grounding": None}]) == []


def test_what_is_claimed_and_published_is_of_presets_that_ship():
    shipped = set(list_names("grounders"))
    assert PUBLISHED.keys() <= shipped
    assert all({claim.better, claim.worse} <= shipped for claim in CLAIMS)
