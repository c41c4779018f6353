import pytest
import torch

from index.items import (
    MOST_KEYS,
    MOST_SENTENCES,
    Entry,
    Picture,
    check_name,
    check_new_name,
    check_size,
)
from models.types import WHOLE_FRAME, FragmentBag, Span

PICTURE = Picture(b"jpeg", 4, 3, "0" * 64)


def image(vectors):
    return FragmentBag(vectors, (WHOLE_FRAME,) * len(vectors), ("whole photo",) * len(vectors))


def sentence(vectors):
    return FragmentBag(vectors, (Span(0, 1),) * len(vectors), ("a",) * len(vectors))


@pytest.mark.parametrize("odd", ["", "a" * 1_025, "ü" * 513, "\x00", "\ud800"])
def test_id_that_is_empty_too_long_or_no_unicode_is_refused(odd):
    with pytest.raises(ValueError, match=r"an id is 1 to 1,024 bytes|an id: NUL and halves"):
        Entry(odd, sentences=("a",), bags=(sentence(torch.ones(1, 2)),))


@pytest.mark.parametrize("name", ["a/b ü#?%", "new\nline", "\u202fPM", "a" * 1_024, "ü" * 512])
def test_id_of_any_other_text_is_fine(name):
    Entry(name, sentences=("a",), bags=(sentence(torch.ones(1, 2)),))


@pytest.mark.parametrize("name", ["", "a" * 201, "new\nline", "\u202fPM", "..", "\ud800"])
def test_name_of_a_collection_is_short_and_printable(name):
    with pytest.raises(ValueError, match=r"1 to 200 printable|a step in an address"):
        check_new_name(name)


@pytest.mark.parametrize("name", [" ", " shop", "shop "])
def test_new_name_of_a_collection_has_no_space_around_it(name):
    check_name(name)  # older collections may have it
    with pytest.raises(ValueError, match="no space at its beginning or end"):
        check_new_name(name)
    check_new_name("my shop")


@pytest.mark.parametrize("odd", ["a\0b", "\ud800", "a \udc80 b"])
def test_text_that_no_database_holds_is_refused(odd):
    bags = (sentence(torch.ones(1, 2)),)
    for fields in ({"sentences": (odd,)}, {"metadata": {"k": [odd]}}, {"metadata": {odd: 1}}):
        with pytest.raises(ValueError, match="NUL and halves of surrogate pairs"):
            Entry("a", bags=bags, **({"sentences": ("a",)} | fields))


def test_text_that_only_looks_like_an_escape_is_fine():
    Entry(
        "a",
        {"k": "\\u0000", "l": "\\\\u0000"},
        sentences=("\\0",),
        bags=(sentence(torch.ones(1, 2)),),
    )


def test_item_needs_a_picture_or_a_sentence():
    with pytest.raises(ValueError, match="neither a picture nor a sentence"):
        Entry("a")


def test_the_key_of_what_is_no_json_is_named():
    with pytest.raises(ValueError, match="'price' is not"):
        Entry("a", {"title": "x", "price": float("inf")}, sentences=("x",))


def test_each_picture_has_a_bag():
    with pytest.raises(ValueError, match="2 pictures but 1 bags"):
        Entry("a", pictures=(PICTURE, PICTURE), images=(image(torch.ones(1, 2)),))


def test_an_item_has_so_many_photos_and_no_more():
    many = 51
    with pytest.raises(ValueError, match="51 photos; 50 at most"):
        Entry("a", pictures=(PICTURE,) * many, images=(image(torch.ones(1, 2)),) * many)


def test_each_sentence_has_a_bag():
    with pytest.raises(ValueError, match="1 sentences but 0 bags"):
        Entry("a", sentences=("x",))


@pytest.mark.parametrize("metadata", [{"a": float("nan")}, {"a": object()}, {1: "a"}, ["a"]])
def test_metadata_that_is_no_json_object_is_refused(metadata):
    with pytest.raises(ValueError, match="JSON"):
        Entry("a", metadata, (PICTURE,), (image(torch.ones(1, 2)),))


@pytest.mark.parametrize(
    ("bag", "reason"),
    [
        (image(torch.tensor([[1.0, float("inf")]])), "not finite"),
        (image(torch.ones(0, 2)), "without fragments"),
        (sentence(torch.ones(1, 2)), "Box"),
    ],
)
def test_image_bag_that_cannot_be_searched_is_refused(bag, reason):
    with pytest.raises(ValueError, match=reason):
        Entry("a", pictures=(PICTURE,), images=(bag,))


@pytest.mark.parametrize(
    ("metadata", "sentences", "reason"),
    [
        ({f"k{number}": 1 for number in range(MOST_KEYS + 1)}, (), "1,001 keys .* 1,000 at most"),
        ({}, ("a",) * (MOST_SENTENCES + 1), "1,001 sentences; 1,000 at most"),
        ({"k": "x" * 100}, (), "109 bytes of metadata and sentences; 100 at most .*TEXT_BYTES"),
        ({}, ("ü" * 50,), "102 bytes"),
    ],
    ids=["keys", "sentences", "metadata", "together"],
)
def test_an_item_has_so_many_keys_sentences_and_bytes_and_no_more(metadata, sentences, reason):
    with pytest.raises(ValueError, match=f"item 'a' has {reason}"):
        check_size("a", metadata, sentences, most=10**6 if len(metadata) > 1 else 100)


def test_an_item_at_its_limits_is_fine():
    check_size("a", {f"k{number}": {"l": [1] * 9} for number in range(MOST_KEYS)})
    check_size("a", {}, ("a",) * MOST_SENTENCES)
    check_size("a", {"k": "x" * 91}, most=100)
