import json

import numpy as np
import pytest
from PIL import Image

from training.data import labels


def write(folder, rows):
    for name in ("images",):
        (folder / name).mkdir(exist_ok=True)
    Image.new("RGB", (4, 4)).save(folder / "images" / "a.png")
    file = folder / "items.jsonl"
    file.write_text("".join(json.dumps({"image": "images/a.png"} | row) + "\n" for row in rows))
    return file


def test_photos_of_split_val_are_measured_on(tmp_path):
    rows = [
        {"id": "1", "labels": ["dog"], "split": "train"},
        {"id": "2", "labels": [], "split": "val"},
    ]
    photos = labels.read(write(tmp_path, rows))
    assert photos.names == ("dog",)
    assert [example.id for example in photos.train] == ["1"]
    assert [example.id for example in photos.val] == ["2"]


def test_without_a_val_every_fifth_photo_is_left_out_half_of_them_with_sentences(tmp_path):
    rows = [{"id": str(n), "labels": ["dog"], "split": "train"} for n in range(20)]
    rows += [
        {"id": f"s{n}", "labels": ["cat"], "sentences": ["A cat."], "split": "train"}
        for n in range(20)
    ]
    photos = labels.read(write(tmp_path, rows))
    assert len(photos.val) == 8
    assert sum(bool(example.sentences) for example in photos.val) == 4
    ids = [{example.id for example in part} for part in (photos.train, photos.val)]
    assert (len(ids[0]), ids[0] & ids[1]) == (32, set())
    assert labels.read(write(tmp_path, rows[::-1])).val[-1].id in ids[1]


@pytest.mark.parametrize("wrong", ["dog", None, [1], [""]])
def test_labels_must_be_a_list_of_names(tmp_path, wrong):
    with pytest.raises(ValueError, match="1: 'labels' must be a list of names"):
        labels.read(write(tmp_path, [{"id": "1", "labels": wrong}]))


def test_a_photo_shows_what_its_labels_say_and_no_more(tmp_path):
    rows = [{"id": "1", "labels": ["dog", "cat"], "split": "train"}]
    rows += [{"id": "2", "labels": [], "split": "train"}]
    photos = labels.read(write(tmp_path, rows))
    assert labels.mark(photos.train, photos.names).tolist() == [[True, True], [False, False]]
    assert labels.mark([], ["dog"]).shape == (0, 1)
    assert labels.mark([], ["dog"]).dtype == np.bool_


def test_photos_that_are_held_out_and_described_keep_their_labels(tmp_path):
    rows = [
        {"id": "1", "split": "val", "labels": ["dog"], "sentences": ["a dog"]},
        {"id": "2", "split": "val", "labels": ["cat"]},
        {"id": "3", "split": "train", "labels": ["cup"], "sentences": ["a cup"]},
    ]
    (photo,) = labels.read_described(write(tmp_path, rows))
    assert (photo.labels, photo.sentences) == (("dog",), ("a dog",))
