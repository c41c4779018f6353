"""Words before others end no caption; sentences tell them."""

from pathlib import Path

import pytest
import torch

from models import checkpoint
from models.captioners import multimodal_rnn
from models.checkpoint import Checkpoint
from models.text.parsing import parse_trees
from training.captioners.endings import LEAST_COUNT, unfinished, with_endings
from training.data.corpus import Example

SENTENCES = ("A large dog runs in the grass .", "A boy in red plays with a dog .")
WORDS = ("a", "dog", "in", "the", "large", "red", "runs", "with", "unheard-of")


def test_words_before_what_they_belong_to_are_unfinished():
    found = unfinished(parse_trees(SENTENCES * LEAST_COUNT), WORDS)
    assert found == ("a", "in", "the", "large", "with")


def test_a_word_that_comes_seldom_says_nothing():
    assert unfinished(parse_trees(SENTENCES), WORDS) == ()


def test_a_captioner_is_made_anew_with_its_weights(tmp_path):
    torch.manual_seed(0)
    sizes = {"views": ("lite0@64",), "proposals": "windows", "embedding": 8, "hidden": 8}
    model = multimodal_rnn.Model(multimodal_rnn.Config(WORDS, **sizes))
    loaded = Checkpoint("captioners", "multimodal_rnn", model, "2a3e500000000000", {})
    made = with_endings(loaded, [Example("1", Path("photo.jpg"), SENTENCES * LEAST_COUNT)])
    torch.testing.assert_close(made.language.out.weight, model.language.out.weight)
    file = tmp_path / "captioner.safetensors"
    checkpoint.save(file, "captioners", "multimodal_rnn", made, {})
    assert checkpoint.load(file).model.config.unfinished == ("a", "in", "the", "large", "with")


def test_other_models_are_refused():
    loaded = Checkpoint("matchers", "colours", None, "c0104a5000000000", {})
    with pytest.raises(ValueError, match="only captioners write captions"):
        with_endings(loaded, [])
