from dataclasses import replace

import pytest

from training.data.corpus import Corpus, Example


def example(folder, name, *sentences):
    (folder / name).touch()
    return Example(name, folder / name, sentences or ("A dog .",))


def test_a_split_with_missing_photos_is_refused_and_the_others_are_not(tmp_path):
    here, gone = example(tmp_path, "a.jpg"), Example("b.jpg", tmp_path / "b.jpg", ("A cat .",))
    corpus = Corpus.of("pets", [("train", here), ("test", gone)])
    assert corpus.split("train") == (here,)
    with pytest.raises(LookupError, match=r"1 of the 1 photos .*'test'.*b\.jpg: give their folder"):
        corpus.split("test")


def test_an_unknown_split_names_the_known_ones(tmp_path):
    corpus = Corpus.of("pets", [("val", example(tmp_path, "a.jpg"))])
    advice = r"it has: val\. A column or key 'split' .* into train, val, test or restval"
    with pytest.raises(LookupError, match=f"pets has no split 'test'; {advice}"):
        corpus.split("test")


def test_an_id_that_comes_twice_is_refused(tmp_path):
    one, other = example(tmp_path, "a.jpg"), example(tmp_path, "b.jpg")
    for split, second in [("train", one), ("val", replace(other, id="a.jpg"))]:
        with pytest.raises(ValueError, match=r"the id 'a\.jpg' comes twice; ids must be unique"):
            Corpus.of("pets", [("train", one), (split, second)])


@pytest.mark.parametrize("split", ["val", "test"])
def test_a_photo_of_two_splits_is_named_with_both(tmp_path, split):
    one = example(tmp_path, "a.jpg")
    wrong = rf"pets: the photo 'a\.jpg' is in train and in {split}: .* leave its rows of train out"
    for rows in [("train", split), (split, "train")]:
        with pytest.raises(ValueError, match=wrong):
            Corpus.of("pets", [(each, one) for each in rows])


def test_the_digest_changes_with_a_sentence_and_with_a_split(tmp_path):
    one, other = example(tmp_path, "a.jpg"), example(tmp_path, "a.jpg", "A cat .")
    digests = {
        Corpus.of("pets", [(split, which)]).digest()
        for split in ("train", "val")
        for which in (one, other)
    }
    assert len(digests) == 4
