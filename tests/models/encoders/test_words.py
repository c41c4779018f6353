import json
import shutil

import pytest

from models.encoders.words import Spelling, in_text, owners_of
from models.text.parsing import parse
from models.types import Span
from tests import encoders


def test_punctuation_goes_with_the_word_before_it_and_marks_with_none():
    words = [Span(1, 4), Span(6, 9)]  # (dog, cat
    tokens = [(0, 0), (0, 1), (1, 4), (4, 5), (6, 9), (0, 0)]
    assert owners_of(tokens, words, 7) == [7, 0, 0, 0, 1, 7]


def test_a_token_of_two_words_goes_to_the_first():
    assert owners_of([(0, 5)], [Span(0, 2), Span(2, 5)], 9) == [0]


def test_places_in_a_squeezed_text_are_places_in_the_text():
    assert in_text([(0, 0), (0, 1), (2, 5)], [1, 2, 4, 5, 6]) == [(0, 0), (1, 2), (4, 7)]


def test_every_token_of_every_family_has_one_owner():
    import importlib

    for family in ("clip", "siglip", "tipsv2"):
        module = importlib.import_module(f"models.encoders.{family}")
        spelling = module.Texts(encoders.folder(family), "float32").spelling
        tokens = spelling([parse(text) for text in encoders.TEXTS])
        assert tokens.groups.sum(1).eq(1).all()


def test_a_tokenizer_without_places_is_refused(tmp_path):
    folder = shutil.copytree(encoders.folder("siglip"), tmp_path / "siglip")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config["tokenizer_class"] = "SiglipTokenizer"  # of the first SigLIP
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"SentencePiece's.*take SigLIP 2 instead"):
        Spelling.of(folder, 16, padded=True, lower=True)


def test_words_beyond_the_encoders_length_give_nothing():
    from models.encoders import clip

    texts = clip.Texts(encoders.folder("clip"), "float32")
    parts = texts([parse(" ".join(["dog"] * 30))])[0]
    assert parts[0].any()
    assert not parts[29].any()
