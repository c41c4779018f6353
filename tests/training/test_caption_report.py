from training.caption_report import sections

MEASURED = {
    "name": "multimodal_rnn",
    "checkpoint": "cd34",
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
    assert f"| {name} | flickr8k val | 60.0 / 40.0 / 26.0 / 17.0 | – | 44.4 | 50.0 |" in text
    assert "| Flickr8K test | 57.9 / 38.3 / 24.5 / 16.0 | 16.7 | – | 31.8 |" in text
    row = f"| {name} | flickr8k val | 2,429 | 40.8 | 62.8 | 0.6 | –, 41.5 | 12.5 | 1,234 | 9.5 |"
    assert row in text


def test_what_ranks_and_where_features_come_from_is_named():
    text = "\n".join(sections([MEASURED | {"ranked_by": "ab12", "frozen": True}]))
    assert "lstm cd34, ranked by the matcher | flickr8k val ‡ |" in text


def test_without_captioners_there_is_no_section():
    assert sections([]) == []
