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


COCO = {
    "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}],
    "annotations": [
        {"image_id": 7, "caption": "A dog ."},
        {"image_id": 8, "caption": "A cat ."},
        {"image_id": 7, "caption": "The dog runs ."},
    ],
}
TABLE = (
    "image,sentence,split,colour\r\n"
    'images/a.jpg,"A dog, running .",train,\r\n'
    "images/b.jpg,A cat .,val,grey\r\n"
    "images/a.jpg,The dog runs .,train,\r\n"
)


@pytest.mark.parametrize("name", ["captions_x.json", "captions_train2017.json", "captions.json"])
def test_captions_of_coco_are_joined_by_their_photo(tmp_path, name):
    corpus = folders.read(written(tmp_path, name, COCO))
    dog, cat = corpus.split("train")
    assert (dog.id, dog.image) == ("a.jpg", tmp_path / "images" / "a.jpg")
    assert (dog.sentences, cat.sentences) == (("A dog .", "The dog runs ."), ("A cat .",))


def test_files_of_coco_are_the_splits_that_they_are_named_by(tmp_path):
    for name, photo in [("train2017", "c.jpg"), ("val2017", "d.jpg")]:
        (tmp_path / name).mkdir()
        (tmp_path / name / photo).touch()
        content = {
            "images": [{"id": 1, "file_name": photo}],
            "annotations": [{"image_id": 1, "caption": "A cat ."}],
        }
        written(tmp_path, f"captions_{name}.json", content)
    corpus = folders.read(tmp_path)
    assert corpus == folders.read(tmp_path / "captions_train2017.json")
    assert corpus.split("train")[0].image == tmp_path / "train2017" / "c.jpg"
    assert corpus.split("val")[0].image == tmp_path / "val2017" / "d.jpg"


def test_captions_of_coco_lie_in_a_folder_of_annotations(tmp_path):
    (tmp_path / "val2017").mkdir()
    for photo in ("a.jpg", "b.jpg"):
        (tmp_path / "val2017" / photo).touch()
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "captions_val2017.json").write_text(json.dumps(COCO))
    dog, _ = folders.read(tmp_path).split("val")
    assert dog.image.samefile(tmp_path / "val2017" / "a.jpg")


@pytest.mark.parametrize(
    ("file", "folder", "table"),
    [
        (
            "results.csv",
            "flickr30k_images",
            "image_name| comment_number| comment\na.jpg| 0| A dog .",
        ),
        ("captions.txt", "Images", "image,caption\na.jpg,A dog ."),
        ("mine.csv", ".", "image,sentence\na.jpg,A dog ."),
    ],
)
def test_photos_of_a_table_lie_in_a_usual_folder(tmp_path, file, folder, table):
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "a.jpg").touch()
    (tmp_path / file).write_text(table)
    (dog,) = folders.read(tmp_path).split("train")
    assert dog.image == tmp_path / folder / "a.jpg"
    (tmp_path / "x").mkdir()
    (dog,) = folders.read(tmp_path / file, tmp_path / "x").splits["train"]
    assert dog.image == tmp_path / "x" / "a.jpg"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("captions.json", [*CAPTIONS, {"filename": "c.jpg", "split": "val", "captions": []}]),
        ("dataset_x.json", {"images": [*KARPATHY["images"],
                                       {"filename": "c.jpg", "split": "val", "sentences": []}]}),
        ("captions_x.json", COCO | {"images": [*COCO["images"], {"id": 9, "file_name": "c.jpg"}]}),
        ("items.jsonl", LINES + '{"image": "c.jpg", "sentences": [], "split": "val"}'),
    ],
)  # fmt: skip
def test_photos_without_sentences_are_left_out_and_counted(tmp_path, name, content):
    corpus = folders.read(written(tmp_path, name, content))
    assert corpus.undescribed == 1
    assert {photo.image.name for photos in corpus.splits.values() for photo in photos} == {
        "a.jpg",
        "b.jpg",
    }


def test_a_line_may_have_a_list_of_captions(tmp_path):
    lines = '{"image": "images/a.jpg", "captions": ["A dog .", "It runs ."]}\n'
    (dog,) = folders.read(written(tmp_path, "items.jsonl", lines)).split("train")
    assert dog.sentences == ("A dog .", "It runs .")


@pytest.mark.parametrize("content", [{"annotations": [3], "images": []}, {"annotations": []}])
def test_broken_captions_of_coco_are_named(tmp_path, content):
    with pytest.raises(ValueError, match=r"captions_x\.json is not COCO's images and annotations"):
        folders.read(written(tmp_path, "captions_x.json", content))


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t")])
def test_rows_of_a_table_are_joined_by_their_photo(tmp_path, name, delimiter):
    table = TABLE.replace("A dog, running", "A dog; running").replace(",", delimiter)
    corpus = folders.read(written(tmp_path, name, table))
    (dog,), (cat,) = corpus.split("train"), corpus.split("val")
    assert dog.sentences == ("A dog; running .", "The dog runs .")
    assert (cat.sentences, cat.metadata) == (("A cat .",), {"colour": "grey"})


@pytest.mark.parametrize(
    ("table", "wrong"),
    [("image,sentence\na.jpg,A dog, running .", 'line 2: more cells .* "…" around .* commas'),
     ("image;sentence\na.jpg;A dog; it", 'line 2: more cells .* "…" around .* semicolons'),
     ("image|sentence\na.jpg|A dog| it", r"line 2: more cells .*: leave '\|' out of texts"),
     ("photo,sentence\na.jpg,A dog .", "line 1: expected a heading with a column image or.*photo"),
     ("image,title\na.jpg,A dog .", "line 2: expected a heading with a column sentence or"),
     ("image,sentences\na.jpg,A dog .", "line 2: .*column sentence or .*got .*'sentences'"),
     ("image,sentence\n\na.jpg,", "line 3: the column 'sentence' is empty"),
     ("image,text,text\na.jpg,A,B", "line 1: the column 'text' comes twice"),
     ('image,sentence\na.jpg,"A man\nb.jpg,A cat', "line 2: unexpected end of data.*quote open"),
     ('image,sentence\na.jpg,"A man\nb.jpg,A cat"', "line 2: .*'sentence' has a line break"),
     ('image,sentence\na.jpg,"A" man', "line 2: .*write \"\" for a quote"),
     ("image_name| comment_number| comment\na.jpg| 4   A dog .",
      r"line 2: 2 cells for 3 columns: a '\|' is missing.*'4   A dog \."),
     ("image,sentence,colour\na.jpg,A dog .,red\na.jpg,It runs .,grey",
      "photo a.jpg: 'colour' is 'red' in one row and 'grey' in another"),
     ("", "line 1: the table is empty"),
     ("image,sentence,split\na.jpg,A dog .,dev", "line 2: 'split' must be one of")],
)  # fmt: skip
def test_a_bad_row_of_a_table_is_named(tmp_path, table, wrong):
    with pytest.raises(ValueError, match=rf"a\.csv, {wrong}"):
        folders.read(written(tmp_path, "a.csv", table))


def test_quotes_between_tabs_and_bars_are_text_unless_they_enclose_a_cell(tmp_path):
    rows = [("Image_Name", "Caption_Number", "Caption"), ("a.jpg", "0", '"A man walks'),
            ("b.jpg", "0", '"Stop" says a sign'), ("b.jpg", "1", '"A ""red"" one"')]  # fmt: skip
    for delimiter in ("\t", "| "):
        table = "\n".join(map(delimiter.join, rows))
        man, sign = folders.read(written(tmp_path, "a.csv", table)).splits["train"]
        assert man.sentences == ('"A man walks',)
        assert sign.sentences == ('"Stop" says a sign', 'A "red" one')
        assert sign.metadata == {}


def test_metadata_of_a_photo_s_rows_is_joined_in_the_order_of_columns(tmp_path):
    table = "image,size,caption,colour\na.jpg,3,A dog .,\na.jpg,3,It runs .,red"
    (dog,) = folders.read(written(tmp_path, "a.csv", table)).splits["train"]
    assert list(dog.metadata.items()) == [("size", "3"), ("colour", "red")]


def test_a_text_that_is_no_table_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"README\.txt, line 1: expected a heading"):
        folders.read(
            written(tmp_path, "README.txt", "The photos, of Flickr8k\n\nRead on.") / "README.txt"
        )


def test_lines_of_one_photo_are_joined_and_metadata_of_hugging_face_is_read(tmp_path):
    rows = [{"file_name": "images/a.jpg", "text": text} for text in ("A dog .", "It runs .")]
    lines = "".join(json.dumps(row) + "\n" for row in [*rows, rows[0]])
    (dog,) = folders.read(written(tmp_path, "metadata.jsonl", lines)).split("train")
    assert (dog.id, dog.sentences) == ("images/a.jpg", ("A dog .", "It runs ."))


def test_a_photo_in_two_splits_is_refused(tmp_path):
    lines = LINES + '{"image": "images/a.jpg", "sentences": ["A dog ."], "split": "val"}\n'
    with pytest.raises(ValueError, match=r"'images/a\.jpg' is in train and in val"):
        folders.read(written(tmp_path, "items.jsonl", lines))


def test_a_missing_file_and_one_of_another_kind_are_told_apart(tmp_path):
    with pytest.raises(LookupError, match=r"there is no file or folder .*none\.jsonl"):
        folders.read(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match=r"a\.parquet is no corpus: expected a \.jsonl file"):
        folders.read(written(tmp_path, "a.parquet", "") / "a.parquet")


def test_an_empty_file_has_no_photo(tmp_path):
    with pytest.raises(LookupError, match="no split 'train'; it has: no photo at all"):
        folders.read(written(tmp_path, "items.jsonl", "")).split("train")


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


@pytest.mark.parametrize(
    ("name", "content"),
    [("captions.json", CAPTIONS), ("dataset_flickr8k.json", KARPATHY), ("items.jsonl", LINES)],
)
def test_a_byte_order_mark_is_no_part_of_a_corpus(tmp_path, name, content):
    plain = folders.read(written(tmp_path, name, content))
    file = tmp_path / name
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert folders.read(tmp_path) == plain


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
        (
            '{"id": 0, "file_name": "a.jpg", "text": "A dog ."}',
            r"'id' must be a text, got 0; the row has \['file_name', 'id', 'text'\]",
        ),
        (
            '{"file_name": 3, "text": "A dog ."}',
            r"'file_name' must be a text, got 3; the row has \['file_name', 'text'\]",
        ),
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
@pytest.mark.parametrize("content", ["{", "{}", "3", '{"images": [3]}'])
def test_a_file_of_another_kind_is_refused(tmp_path, name, content):
    with pytest.raises(ValueError, match=name):
        folders.read(written(tmp_path, name, content))


@pytest.mark.parametrize("name", ["captions.json", "dataset_x.json"])
def test_a_photo_is_no_corpus(tmp_path, name):
    (tmp_path / name).write_bytes(b"\xff\xd8\xff")
    with pytest.raises(ValueError, match=name):
        folders.read(tmp_path / name)


def test_a_folder_without_a_corpus_is_told_what_one_is(tmp_path):
    with pytest.raises(LookupError, match=r"\.csv or \.tsv of .* dataset_\*\.json"):
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
    wrong = "line 1: the byte 0xe9 is not UTF-8: save the file as UTF-8"
    with pytest.raises(ValueError, match=rf"items\.jsonl, {wrong}"):
        folders.read(file)


def test_a_row_that_is_no_utf8_is_named(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(b"image,sentence\na.jpg,A dog .\nb.jpg,A h\xfct .\n")
    wrong = r"a\.csv, line 3: the byte 0xfc is not UTF-8: save the file as UTF-8"
    with pytest.raises(ValueError, match=wrong):
        folders.read(file)
