import pytest

from training.data.corpus import Corpus, Example
from training.data.label_texts import LEAST_SHARED, LabelTexts, with_article
from training.data.labels import LabelledPhotos, join


def photo(name, labels=None, sentences=()):
    return Example(name, name, tuple(sentences), labels=labels)


def test_a_label_is_worded_as_people_search_for_it():
    names = ["dog", "orange", "skis", "bus", "wine glass"]
    articles = ["a dog", "an orange", "skis", "a bus", "a wine glass"]
    assert [with_article(name) for name in names] == articles


def test_texts_are_true_of_every_photo_that_shows_what_they_name_and_of_no_other():
    both = [photo(f"b{k}", ("cat", "dog")) for k in range(LEAST_SHARED)]
    made = LabelTexts.of([photo("told", None, ["A dog."]), *both, photo("c", ("cat",))])
    assert made.texts == ("cat", "a cat", "dog", "a dog", "a cat and a dog")
    assert made.photos == tuple(range(1, LEAST_SHARED + 2))  # what is not known is not learned
    assert made.groups == ((0, 1), (2, 3))
    assert made.pairs == (4,)
    assert made.true[0].tolist() == [True] * 5
    assert made.true[-1].tolist() == [True, True, False, False, False]


def test_a_photo_that_shows_nothing_of_the_list_is_learned_as_such():
    made = LabelTexts.of([photo("1", ("cat",)), photo("2", ())])
    assert made.true.tolist() == [[True, True], [False, False]]


def test_rare_pairs_have_no_text():
    made = LabelTexts.of([photo(f"{k}", ("cat", "dog")) for k in range(LEAST_SHARED - 1)])
    assert made.pairs == ()


def test_photos_without_any_label_teach_nothing():
    with pytest.raises(ValueError, match="no photo has labels: give photos with complete"):
        LabelTexts.of([photo("1", None, ["A dog."]), photo("2", ())])


def test_photos_with_labels_join_train_and_held_out_ones_join_nothing():
    told = Corpus("told", {"train": (photo("1"),), "val": (photo("2"),)})
    learned = Example("3", "3", (), {"labels": ["cat"]})
    held_out = Example("4", "4", (), {"labels": ["dog"]})
    joined = join(told, LabelledPhotos(("cat", "dog"), (learned,), (held_out,)), "seen")
    assert joined.name == "told + seen"
    assert [[one.id for one in joined.splits[split]] for split in ("train", "val")] == [
        ["1", "3"],
        ["2"],
    ]
    assert joined.splits["train"][1].labels == ("cat",)
    other = Example("3", "3", (), {"labels": ["dog"]})
    assert joined.digest() != join(told, LabelledPhotos((), (other,), ()), "seen").digest()
