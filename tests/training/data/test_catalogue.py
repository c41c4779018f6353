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


def test_zero_is_an_id(tmp_path):
    (milk,) = catalogue.read(written(tmp_path, MILK | {"id": 0})).split("val")
    assert milk.id == "0"


def test_a_photo_without_sentences_has_fields_too(tmp_path):
    row = {"filename": "a.jpg", "split": "val", "captions": [], "category": "cow"}
    (tmp_path / "captions.json").write_text(json.dumps([row]))
    assert catalogue.read(tmp_path).splits["val"][0].metadata == {"category": "cow"}


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


SHIRTS = [
    {"id": f"{n}", "image": f"{n}.jpg", "kind": "Shirts", "colour": ["Red", "Blue"][n % 2]}
    for n in range(40)
]
SHOES = [
    row | {"id": f"shoe {row['id']}", "image": f"shoe {row['image']}", "kind": "Shoes"}
    for row in SHIRTS
]


def test_a_csv_says_the_same_as_lines(tmp_path):
    written(tmp_path, MILK | {"brand": ""}, name="x.jsonl")
    (tmp_path / "x.csv").write_text("id,image,split,kind,brand\nmilk,images/a.jpg,val,Milk,\n")
    (milk,) = catalogue.read(tmp_path / "x.csv").split("val")
    (other,) = catalogue.read(tmp_path / "x.jsonl").split("val")
    assert (milk.id, milk.image) == (other.id, other.image)
    assert "brand" not in milk.metadata
    (tmp_path / "x.csv").write_text("id,kind\nmilk,Milk\n")
    with pytest.raises(ValueError, match=r"x\.csv, line 1: expected a heading with a column image"):
        catalogue.read(tmp_path / "x.csv")


def test_a_lesson_has_the_texts_of_fields_and_a_split_of_its_own(tmp_path):
    products = catalogue.training_corpus(written(tmp_path, *SHIRTS, *SHOES))
    splits = {split: len(examples) for split, examples in products.corpus.splits.items()}
    assert splits["train"] + splits["val"] == 80
    assert 1 <= splits["val"] <= 20
    first = next(one for one in products.corpus.splits["train"] if one.id.startswith("shoe"))
    colour = first.metadata["colour"].lower()
    assert first.sentences == ("shoes", "shoe", colour, f"{colour} shoes", f"{colour} shoe")
    assert first.kind == "shoes"
    assert "kinds: kind; attributes: colour" in products.describe()


def test_products_of_a_group_are_in_one_split(tmp_path):
    rows = [row | {"group": f"{n // 4}"} for n, row in enumerate(SHIRTS)]
    corpus = catalogue.training_corpus(written(tmp_path, *rows, *SHOES)).corpus
    groups = [
        {example.metadata["group"] for example in examples if "group" in example.metadata}
        for examples in corpus.splits.values()
    ]
    assert not groups[0] & groups[1]


def test_clicks_are_texts_with_weights(tmp_path):
    clicks = tmp_path / "clicks.csv"
    clicks.write_text("query,id,weight\nSummer Top,3,2.5\nred shirts,3,0\nshirt,3,4\n")
    corpus = catalogue.training_corpus(written(tmp_path, *SHIRTS, *SHOES), clicks=clicks).corpus
    third = next(e for own in corpus.splits.values() for e in own if e.id == "3")
    weights = dict(third.weighted)
    assert (weights["summer top"], weights["shirt"], weights["shirts"]) == (2.5, 4.0, 1.0)
    assert "red shirts" not in weights
    clicks.write_text("query,id\nshirt,unknown\n")
    with pytest.raises(LookupError, match=r"no id of the catalogue, the first is unknown"):
        catalogue.training_corpus(tmp_path, clicks=clicks)
    clicks.write_text("query,id,weight\nshirt,3,0\n")
    with pytest.raises(ValueError, match=r"clicks\.csv has no weight above 0"):
        catalogue.training_corpus(tmp_path, clicks=clicks)


def test_a_photo_of_val_is_not_learned(tmp_path):
    rows = [row | {"split": "train"} for row in (*SHIRTS, *SHOES)]
    again = [row | {"split": "val"} for row in rows[:5]]
    products = catalogue.training_corpus(written(tmp_path, *rows, *again))
    assert "75 of train, 5 of val; 5 left out of train, which other splits" in products.describe()
    splits = products.corpus.splits
    assert (len(splits["train"]), len(splits["val"])) == (75, 5)
    assert not {e.id for e in splits["train"]} & {e.id for e in splits["val"]}
