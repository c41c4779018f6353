import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from models import inference
from models.text.minilm_layers import MINILM_HIDDEN
from models.text.words import LowerMiniLM, upper_minilm
from models.types import ParsedSentence, Span, Word


@pytest.fixture
def by_openvino():
    pytest.importorskip("openvino")
    inference.choose("openvino")
    try:
        yield upper_minilm(5, dropout=0.1).eval()
    finally:
        inference.choose("torch")


def states(texts, words):
    tokens = torch.randn(texts * words, MINILM_HIDDEN, generator=torch.Generator().manual_seed(1))
    return tokens, torch.ones(texts, words, dtype=torch.bool)


def by_torch(layers, tokens, mask):
    compiled, layers.compiled = layers.compiled, None
    try:
        return layers(tokens, mask)
    finally:
        layers.compiled = compiled


@pytest.mark.parametrize(("texts", "words"), [(1, 3), (1, 20), (2, 5)])
def test_openvino_gives_the_states_that_torch_gives(by_openvino, texts, words):
    tokens, mask = states(texts, words)
    with torch.inference_mode():
        quick = by_openvino(tokens, mask)
        assert by_openvino.compiled.compiled.idle  # it computed them
        assert torch.allclose(quick, by_torch(by_openvino, tokens, mask), atol=1e-4)


def test_texts_of_other_lengths_and_gradients_are_left_to_torch(by_openvino):
    tokens, mask = states(2, 3)

    def refuse(states):
        raise AssertionError(states)

    by_openvino.compiled = refuse
    by_openvino(tokens, mask)  # gradients are wanted
    mask[1, 2] = False
    with torch.inference_mode():
        by_openvino(tokens[:5], mask)


def test_a_copy_has_its_own_weights(by_openvino):
    other = copy.deepcopy(by_openvino)
    tokens, mask = states(1, 4)
    with torch.inference_mode():
        before = by_openvino(tokens, mask)
        other[0].done.bias += 1
        assert torch.allclose(other(tokens, mask), before + 1, atol=1e-4)
        assert torch.equal(by_openvino(tokens, mask), before)


def test_threads_compute_at_the_same_time(by_openvino):
    tokens, mask = states(1, 6)

    def run(_):
        with torch.inference_mode():
            return by_openvino(tokens, mask)

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(run, range(16))
    assert all(torch.equal(first, other) for other in others)


@pytest.mark.usefixtures("by_openvino")
def test_words_have_the_states_that_torch_gives():
    sentence = ParsedSentence("a dog", (Word("a", Span(0, 1)), Word("dog", Span(2, 5))))
    network = LowerMiniLM(2).eval()
    with torch.inference_mode():
        (quick,) = network([sentence])
        network.layers.compiled = None
        (plain,) = network([sentence])
    assert torch.allclose(quick, plain, atol=1e-4)
