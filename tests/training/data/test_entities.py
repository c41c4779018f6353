import gzip
import json

import pytest

from models.types import Box
from training.data import entities

ROW = {
    "w": 200,
    "h": 100,
    "boxes": {"7": [[0, 0, 100, 50], [100, 50, 200, 100]]},
    "sentences": [
        {
            "tokens": ["Two", "dogs", "near", "water", "."],
            "phrases": [{"id": "7", "start": 0, "end": 2}, {"id": "8", "start": 3, "end": 4}],
        }
    ],
}


def read(tmp_path, row, name="entities.json"):
    content = json.dumps({"a.jpg": row}).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return entities.read(entities.find(tmp_path))["a.jpg"]


@pytest.mark.parametrize("name", entities.FILES)
def test_a_boxed_phrase_has_its_text_its_span_and_boxes_in_fractions(tmp_path, name):
    (sentence,) = read(tmp_path, ROW, name)
    (phrase,) = sentence.phrases
    assert phrase.text == "Two dogs"
    assert sentence.text[phrase.span.start : phrase.span.end] == "Two dogs"
    assert phrase.boxes == (Box(0, 0, 0.5, 0.5), Box(0.5, 0.5, 1, 1))


@pytest.mark.parametrize("box", [[0, 0, 0, 50], [0, 0, 201, 50], [-1, 0, 100, 50], [0, 0, 100]])
def test_a_wrong_box_is_named_by_its_photo(tmp_path, box):
    with pytest.raises(ValueError, match=r"photo a\.jpg"):
        read(tmp_path, ROW | {"boxes": {"7": [box]}})


def test_a_phrase_outside_its_sentence_is_refused(tmp_path):
    sentence = {"tokens": ["Dogs"], "phrases": [{"id": "7", "start": 0, "end": 2}]}
    with pytest.raises(ValueError, match="tokens 0:2 of 1"):
        read(tmp_path, ROW | {"sentences": [sentence]})


@pytest.mark.parametrize(
    ("name", "content", "mistake"),
    [("captions.json", b'[{"filename": "a.jpg"}]', "holds no true boxes: give"),
     ("coco.json", b'{"images": [], "annotations": []}', "holds no true boxes"),
     ("rows.json", b'{"a.jpg": {"w": 9}}', r"photo a\.jpg lacks boxes, h, sentences"),
     ("a.jpg", b"\xff\xd8\xff", "is not JSON"),
     ("entities.json.gz", b"{}", "is not JSON"),
     ("list.json", json.dumps({"a.jpg": ROW | {"boxes": []}}).encode(), r"photo a\.jpg")],
)  # fmt: skip
def test_a_file_of_another_layout_is_named(tmp_path, name, content, mistake):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name}.*{mistake}"):
        entities.read(tmp_path / name)


def test_a_folder_without_boxes_has_none(tmp_path):
    assert entities.find(tmp_path) is None


def test_the_box_around_boxes_holds_all():
    boxes = (Box(0.5, 0, 1, 0.3), Box(0.2, 0.7, 0.6, 1))
    assert entities.enclose(boxes) == Box(0.2, 0, 1, 1)
