import json

import pytest

from training.data import catalogue

MILK = {"id": "milk", "image": "images/a.jpg", "split": "val", "kind": "Milk", "price": 3}
TEA = {"image": "images/b.jpg", "metadata": {"kind": "Tea"}}


def written(folder, *rows, name="items.jsonl"):
    (folder / "images").mkdir(exist_ok=True)
    for photo in ("a.jpg", "b.jpg"):
        (folder / "images" / photo).touch()
    (folder / name).write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return folder


def test_other_keys_and_metadata_are_fields(tmp_path):
    corpus = catalogue.read(written(tmp_path, MILK, TEA))
    milk, tea = corpus.split("val")
    assert corpus.name == tmp_path.name
    assert (milk.id, milk.metadata["kind"], milk.metadata["price"]) == ("milk", "Milk", 3)
    assert (tea.id, tea.metadata["kind"]) == ("images/b.jpg", "Tea")
    assert (tea.image, tea.sentences) == (tmp_path / "images" / "b.jpg", ())


def test_a_photo_may_be_in_two_splits_but_once_in_each(tmp_path):
    both = catalogue.read(written(tmp_path, MILK, MILK | {"split": "train"}))
    assert both.split("val")[0].id == both.split("train")[0].id == "milk"
    with pytest.raises(ValueError, match="'milk' comes twice"):
        catalogue.read(written(tmp_path, MILK, MILK))


def test_a_corpus_with_sentences_gives_its_fields_too(tmp_path):
    row = {"filename": "a.jpg", "split": "val", "captions": ["A cow ."], "category": "cow"}
    written(tmp_path)
    (tmp_path / "items.jsonl").unlink()
    (tmp_path / "captions.json").write_text(json.dumps([row]))
    (cow,) = catalogue.read(tmp_path).split("val")
    assert (cow.metadata, cow.sentences) == ({"category": "cow"}, ("A cow .",))


@pytest.mark.parametrize(
    ("row", "message"),
    [({"kind": "Milk"}, "'image' must be a text"), ([], "expected an object")],
)
def test_a_bad_line_is_named_by_its_number(tmp_path, row, message):
    with pytest.raises(ValueError, match=rf"items\.jsonl, line 2: .*{message}"):
        catalogue.read(written(tmp_path, MILK, row))
