import gzip

import pytest

from training.captioners import text_sources as text
from training.data.corpus import Corpus, Example


def test_lines_of_a_file_gzipped_or_not(tmp_path):
    content = "A dog runs .\n\n  A cat sleeps.\n...\n"
    (tmp_path / "a.txt").write_text(content)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(content.encode()))
    for name in ("a.txt", "a.txt.gz"):
        assert text.read_lines(tmp_path / name) == ["A dog runs .", "A cat sleeps."]


def test_a_file_that_cannot_be_read_as_sentences_is_refused(tmp_path):
    with pytest.raises(LookupError, match="no file"):
        text.read_lines(tmp_path / "none.txt")
    for name, content in (("a.txt", b"\xff\xfe\x00"), ("a.txt.gz", b"plain"), ("b.txt", b"\n.\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=r"sentence"):
            text.read_lines(tmp_path / name)


def test_sentences_of_val_are_left_out_however_they_are_written(tmp_path):
    rows = [
        ("train", Example("1", tmp_path, ("A dog runs .",))),
        ("val", Example("2", tmp_path, ("A man 's t - shirt .",))),
    ]
    corpus = Corpus.of("few", rows)
    found = text.drop_held_out(["a dog runs", "a Man's T-shirt!", "a cat"], corpus)
    assert found == ["a dog runs", "a cat"]


def test_names_are_those_whose_words_are_known_with_their_article():
    sentences = text.name_classes({"goldfish", "orange", "fish"})
    assert "a close up of a goldfish" in sentences
    assert "a goldfish looks at the camera" in sentences
    assert "an orange on a table" in sentences
    assert not any("tench" in sentence for sentence in sentences)
