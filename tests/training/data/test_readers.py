import json

import pytest

from training.data import readers as folders


def written(folder, name, content):
    (folder / "images").mkdir(exist_ok=True)
    for photo in ("a.jpg", "b.jpg"):
        (folder / "images" / photo).touch()
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


CAPTIONS = [
    {"filename": "a.jpg", "split": "train", "captions": ["A dog .", "The dog runs ."]},
    {"filename": "b.jpg", "split": "val", "captions": ["A cat ."]},
]
KARPATHY = {
    "images": [
        {"filename": "a.jpg", "split": "train", "sentences": [{"raw": "A dog ."}]},
        {"filename": "b.jpg", "split": "restval", "sentences": [{"raw": "A cat .", "tokens": []}]},
    ]
}
LINES = (
    '{"image": "images/a.jpg", "sentences": ["A dog ."]}\n\n'
    '{"id": "cat", "image": "images/b.jpg", "sentences": ["A cat ."], "split": "test",'
    ' "metadata": {"colour": "grey"}}\n'
)


@pytest.mark.parametrize(
    ("name", "content", "other"),
    [
        ("captions.json", CAPTIONS, "val"),
        ("dataset_flickr8k.json", KARPATHY, "restval"),
        ("items.jsonl", LINES, "test"),
    ],
)
def test_each_layout_is_known_by_its_file(tmp_path, name, content, other):
    corpus = folders.read(written(tmp_path, name, content))
    (dog,) = corpus.split("train")
    (cat,) = corpus.split(other)
    assert dog.sentences[0] == "A dog ."
    assert dog.image == tmp_path / "images" / "a.jpg"
    assert cat.sentences == ("A cat .",)


def test_a_jsonl_line_keeps_its_id_and_metadata(tmp_path):
    corpus = folders.read(written(tmp_path, "items.jsonl", LINES))
    (cat,) = corpus.split("test")
    assert (cat.id, cat.metadata) == ("cat", {"colour": "grey"})
    assert corpus.split("train")[0].id == "images/a.jpg"


def test_photos_of_coco_lie_under_their_filepath(tmp_path):
    row = {"filepath": "val2014", "filename": "c.jpg", "split": "val"}
    (tmp_path / "val2014").mkdir()
    (tmp_path / "val2014" / "c.jpg").touch()
    file = tmp_path / "dataset_coco.json"
    file.write_text(json.dumps({"images": [row | {"sentences": [{"raw": "A cat ."}]}]}))
    assert folders.read(file).split("val")[0].image == tmp_path / "val2014" / "c.jpg"


def test_photos_may_lie_elsewhere(tmp_path):
    away = tmp_path / "away"
    away.mkdir()
    (away / "a.jpg").touch()
    corpus = folders.read(written(tmp_path, "captions.json", CAPTIONS), images=away)
    assert corpus.split("train")[0].image == away / "a.jpg"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "Expecting property name"),
        ("[]", "expected an object"),
        ('{"sentences": ["A dog ."]}', "'image' must be a text"),
        ('{"image": "a.jpg"}', "'sentences' must be a list"),
        ('{"image": "a.jpg", "sentences": [" "]}', "a text with words"),
        ('{"image": "a.jpg", "sentences": ["!!!"]}', "a text with words"),
        (f'{{"image": "a.jpg", "sentences": ["{"word " * 600}"]}}', "600 words"),
        ('{"image": "a.jpg", "sentences": ["A dog ."], "split": "dev"}', "train, val, test"),
        ('{"image": "a.jpg", "sentences": ["A dog ."], "caption": ""}', "unknown keys"),
        ('{"image": "a.jpg", "sentences": ["A dog ."], "metadata": 3}', "must be an object"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path, line, said):
    with pytest.raises(ValueError, match=rf"items\.jsonl, line 4: .*{said}"):
        folders.read(written(tmp_path, "items.jsonl", LINES + line + "\n"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("captions.json", [*CAPTIONS, {"filename": "c.jpg", "split": "val"}]),
        ("dataset_x.json", {"images": [*KARPATHY["images"], {"filename": "c.jpg"}]}),
    ],
)
def test_a_bad_photo_is_named_by_its_place(tmp_path, name, content):
    with pytest.raises(ValueError, match="photo 2: '"):
        folders.read(written(tmp_path, name, content))


@pytest.mark.parametrize("name", ["captions.json", "dataset_x.json"])
@pytest.mark.parametrize("content", ["{", "{}", "3"])
def test_a_file_of_another_kind_is_refused(tmp_path, name, content):
    with pytest.raises(ValueError, match=name):
        folders.read(written(tmp_path, name, content))


def test_a_folder_without_a_corpus_is_told_what_one_is(tmp_path):
    with pytest.raises(LookupError, match=r"captions\.json, dataset_\*\.json"):
        folders.read(tmp_path)


def test_of_two_corpora_one_must_be_named(tmp_path):
    written(tmp_path, "one.jsonl", LINES)
    written(tmp_path, "two.jsonl", LINES)
    with pytest.raises(LookupError, match=r"one\.jsonl, two\.jsonl"):
        folders.read(tmp_path)
    assert folders.read(tmp_path / "two.jsonl").name == "two"


def test_a_line_that_is_no_utf8_is_named(tmp_path):
    file = tmp_path / "items.jsonl"
    file.write_bytes(b'{"image": "a.jpg", "sentences": ["caf\xe9"]}\n')
    with pytest.raises(ValueError, match=r"items\.jsonl, line 1: 'utf-8' codec"):
        folders.read(file)
