import pytest

from training.report.region_captions import sections


def row(seed, **others):
    scores = [30.0 + seed, 20.0, 10.0, 5.0]
    return {
        "name": "multimodal_rnn", "options": {}, "learned_from": "regions", "data": "flickr8k",
        "split": "val", "seed": seed, "regions": 4321, "region_bleu": scores, "words": 2.5,
        "rouge": 40.0 + seed, "cider": 80.0,
    } | others  # fmt: skip


def test_seeds_of_a_system_are_one_row_and_published_ones_stand_below():
    lstm = {"options": {"recurrence": "lstm"}}
    page = sections([row(0), row(2), row(0, learned_from="whole photos"), row(0, **lstm)])
    rows = [one for one in page if one.startswith("| ")]
    assert rows[1:4] == [
        "| multimodal_rnn | regions | flickr8k val | 2 | 4,321 | 2.5 "
        "| 31.0 / 20.0 / 10.0 / 5.0 (5.0–5.0) | – | 41.0 (40.0–42.0) | 80.0 (80.0–80.0) |",
        "| multimodal_rnn | whole photos | flickr8k val | 1 | 4,321 | 2.5 "
        "| 30.0 / 20.0 / 10.0 / 5.0 | – | 40.0 | 80.0 |",
        "| multimodal_rnn, recurrence lstm | regions | flickr8k val | 1 | 4,321 | 2.5 "
        "| 30.0 / 20.0 / 10.0 / 5.0 | – | 40.0 | 80.0 |",
    ]
    assert rows[-1] == (
        "| published: multimodal RNN | regions | COCO | – | – | – | 35.2 / 23.0 / 16.1 / 14.8 "
        "| – | – | – |"
    )


def test_regions_of_different_data_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two data sets are named flickr8k, with the digests ab"):
        sections([row(0, digest="ab"), row(1, digest="cd")])


def test_two_rows_of_a_seed_are_refused():
    with pytest.raises(ValueError, match="two lines hold multimodal_rnn, learned from regions"):
        sections([row(0), row(0)])


def test_nothing_measured_is_no_section():
    assert sections([{"bleu": [1, 2, 3, 4]}]) == []
