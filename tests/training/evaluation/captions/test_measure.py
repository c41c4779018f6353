from pathlib import Path

import pytest

from training.data.corpus import Example
from training.evaluation.captions import measure
from training.evaluation.captions.measure import (
    GeneratedCaption,
    descriptions,
    find_installed,
    list_missing,
)
from training.evaluation.captions.tables import format_descriptions
from training.evaluation.captions.wordnet import WordNet

pytestmark = pytest.mark.usefixtures("without_meteor")


def example(name, *sentences):
    return Example(name, Path(f"{name}.jpg"), sentences)


VAL = [example("1", "a dog runs on grass"), example("2", "a cat sits here")]


def test_captions_as_their_references_score_all_that_there_is():
    captions = [GeneratedCaption(photo.sentences[0], {}) for photo in VAL]
    measured = descriptions(captions, VAL)
    assert measured.bleu == (100, 100, 100, 100)
    assert measured.rouge == 100
    assert measured.cider > 900
    assert measured.copied is None
    assert measured.meteor is None


def test_variety_counts_words_and_copies_of_train():
    captions = [GeneratedCaption("A dog runs", {}), GeneratedCaption("A dog sleeps", {})]
    measured = descriptions(captions, VAL, [example("3", "a dog runs .")])
    assert (measured.length, measured.vocabulary, measured.copied) == (3, 4, 50)


def test_what_is_not_installed_is_none():
    def absent():
        raise LookupError("install it")

    assert find_installed(absent) is None
    assert find_installed(lambda: 3) == 3


def test_missing_data_are_named_with_their_installation(monkeypatch, tmp_path):
    monkeypatch.setattr(measure, "WordNet", lambda: WordNet(tmp_path))
    captions = [GeneratedCaption(photo.sentences[0], {}) for photo in VAL]
    measured = descriptions(captions, VAL)
    meteor, nouns = list_missing(measured)
    assert meteor == "METEOR not measured: install it"
    assert nouns.startswith("nouns not measured: no ")
    assert nouns.endswith("apt install wordnet-base")
    assert format_descriptions(measured).splitlines()[-2:] == [meteor, nouns]
