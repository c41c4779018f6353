import pytest

from models.captions.forms import is_well_formed, keep_well_formed
from models.registry import Caption, CaptionWord
from models.text.parsing import parse_trees

SOUND = [
    "A man and a woman are sitting on a bench",
    "A dog is running through a field",
    "Two dogs play in the snow",
    "A group of people are standing on a beach",
    "A man in a red shirt is riding a bicycle down a street",
    "A cat that is lying on a couch",
    "An old man sits on an iron chair",
    "Children in a pool",
]  # fmt: skip
BROKEN = [
    "A table is sitting on a table",
    "A is is is eating a dish",
    "A dog with dogs",
    "A man is riding a",
    "Two dog play",
    "A people on a beach",
    "A old man",
    "An dog",
    "A man is is riding",
    "A dog are running",
    "Two dogs is running",
    "A dog runs a man sits",
    "A brown and a white and a tan and a ball",
]  # fmt: skip


def caption(text):
    return Caption(tuple(CaptionWord(word, -0.5) for word in text.split()), -1.0)


@pytest.mark.parametrize("text", SOUND)
def test_what_people_write_is_well_formed(text):
    (tree,) = parse_trees([text])
    assert is_well_formed(tree)


@pytest.mark.parametrize("text", BROKEN)
def test_repeated_words_and_broken_forms_are_found(text):
    (tree,) = parse_trees([text])
    assert not is_well_formed(tree)


def test_broken_captions_are_left_out_and_the_others_keep_their_order():
    captions = [caption(text) for text in ("A dog runs", "A dog with dogs", "A cat sits")]
    assert keep_well_formed(captions) == [captions[0], captions[2]]
    assert keep_well_formed([Caption((), 0.0)]) == []
