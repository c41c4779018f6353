import pytest

from training.report.captions import sections

MEASURED = {
    "name": "multimodal_rnn",
    "checkpoint": "cd34",
    "seed": 0,
    "options": {"recurrence": "lstm"},
    "data": "flickr8k",
    "split": "val",
    "bleu": [60, 40, 26, 17],
    "meteor": None,
    "rouge": 44.44,
    "cider": 50,
    "copied": 12.5,
    "vocabulary": 1234,
    "length": 9.5,
    "hallucination": {
        "nouns": 2429,
        "hallucinated": 40.8,
        "captions": 62.8,
        "persons": 0.6,
        "boxed": 0,
        "grounded": None,
        "linked": 41.5,
    },
}


def test_captioners_stand_beside_what_papers_published():
    text = "\n".join(sections([MEASURED]))
    name = "multimodal_rnn, recurrence lstm cd34"
    assert f"| {name} | flickr8k val | 1 | 60.0 / 40.0 / 26.0 / 17.0 | – | 44.4 | 50.0 |" in text
    assert "| Flickr8K test | – | 57.9 / 38.3 / 24.5 / 16.0 | 16.7 | – | 31.8 |" in text
    row = "| 2,429 | 40.8 | 62.8 | 0.6 | –, 41.5 | 12.5 | 1,234 | 9.5 |"
    assert f"| {name} | flickr8k val | 1 {row}" in text


def test_what_ranks_and_where_features_come_from_is_named():
    text = "\n".join(sections([MEASURED | {"ranked_by": "ab12", "frozen": True}]))
    assert "lstm cd34, ranked by the matcher | flickr8k val ‡ |" in text


def test_seeds_of_a_captioner_are_one_row_of_means_and_ranges():
    nouns = MEASURED["hallucination"] | {"nouns": 2431, "hallucinated": 42.8, "linked": None}
    other = MEASURED | {"seed": 1, "checkpoint": "ef56", "cider": 53, "meteor": 17.5}
    other |= {"bleu": [62, 42, 28, 18], "copied": None, "hallucination": nouns}
    text = "\n".join(sections([MEASURED, MEASURED | {"beam": 7}, other]))
    name = "multimodal_rnn, recurrence lstm"
    scores = "61.0 / 41.0 / 27.0 / 17.5 (17.0–18.0) | – | 44.4 (44.4–44.4) | 51.5 (50.0–53.0)"
    assert f"| {name} | flickr8k val | 2 | {scores} |" in text
    assert f"| {name} cd34, a beam of 7 | flickr8k val | 1 | 60.0" in text
    assert "| flickr8k val | 2 | 2,430 | 41.8 (40.8–42.8) |" in text
    assert "| –, – | – | 1,234 | 9.5 (9.5–9.5) |" in text


def test_two_files_of_a_seed_are_refused_and_what_has_no_seed_has_none():
    with pytest.raises(ValueError, match="two lines hold multimodal_rnn, recurrence lstm on flick"):
        sections([MEASURED, MEASURED])
    nearest = {key: value for key, value in MEASURED.items() if key not in ("seed", "options")}
    assert "| multimodal_rnn cd34 | flickr8k val | – | 60.0" in "\n".join(sections([nearest]))


def test_without_captioners_there_is_no_section():
    assert sections([]) == []


def test_captions_of_different_data_of_one_name_are_refused():
    rows = [MEASURED | {"seed": seed, "digest": digest} for seed, digest in enumerate("ab")]
    with pytest.raises(ValueError, match="two data sets are named flickr8k, with the digests a"):
        sections(rows)
