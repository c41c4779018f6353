"""MiniLM's layers by compiled loops, against those of torch."""

import importlib.util
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from numba import njit

from models import machine_code
from models.text import short_texts
from models.text.parsing import parse
from models.text.words import LowerMiniLM, PackedLayer, pass_each, quicken, upper_minilm

LENGTHS = [*([n] for n in range(1, 15)), [9, 1], [3, 3, 3], [short_texts.MOST]]
pytestmark = pytest.mark.skipif(not short_texts.works(), reason="no AVX2 and half precision")


@pytest.fixture(scope="module")
def avx2():
    """The module for processors without AVX-512, compiled for this one."""
    spec = importlib.util.find_spec("models.text.short_texts")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine_code, "has", lambda *features: "avx512f" not in features)
        # Not from numba's cache: it tells such functions apart by their files alone.
        patch.setattr(machine_code, "compile_loop", lambda loop, **_: njit(loop, nogil=True))
        patch.setitem(sys.modules, "models.text.narrow_short_texts", module)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["this processor", "AVX2"])
def module(request):
    return short_texts if request.param == "this processor" else request.getfixturevalue("avx2")


@pytest.fixture(scope="module")
def layers():
    """Two layers with weights rounded to half precision."""
    loaded = [PackedLayer.load(number) for number in (1, 4)]
    halves = [PackedLayer(0.0).eval().requires_grad_(False) for _ in loaded]
    for layer, of_package in zip(halves, loaded, strict=True):
        rounded = {
            name: value.half().float() if value.ndim == 2 else value
            for name, value in of_package.state_dict().items()
        }
        layer.load_state_dict(rounded)
    return halves


def mask_of(lengths):
    return torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]


def tokens_of(lengths):
    torch.manual_seed(sum(lengths))
    return torch.randn(sum(lengths), 384)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_layers_are_those_of_torch(module, layers, lengths):
    tokens, mask = tokens_of(lengths), mask_of(lengths)
    packed = module.PackedWeights(layers)
    expected = tokens
    for layer in layers:
        expected = layer(expected, mask)
    before = tokens.clone()
    torch.testing.assert_close(packed(tokens, lengths), expected, rtol=1e-4, atol=2e-5)
    assert torch.equal(tokens, before)


def test_avx2_has_narrower_blocks(avx2):
    assert (avx2.LANES, avx2.BLOCK) == (8, 16)


def test_gelu_is_that_of_torch_everywhere():
    x = torch.cat([torch.linspace(-8, 8, 4001), torch.tensor([-1e4, -0.0, 1e-20, 1e4])])
    states = x[None].numpy().copy()
    short_texts.gelu(states)
    expected = torch.nn.functional.gelu(x.double()).numpy()
    assert (np.abs(states[0] - expected) <= 4e-7 * np.maximum(1, np.abs(x.numpy()))).all()


@pytest.mark.parametrize("order", ["columns first", "part of wider rows"])
def test_tokens_may_lie_in_any_order(layers, order):
    packed = short_texts.PackedWeights(layers)
    tokens = tokens_of([6])
    wider = torch.cat([tokens, tokens], 1)[:, :384]
    other = wider if order == "part of wider rows" else tokens.T.contiguous().T
    assert torch.equal(packed(other, [6]), packed(tokens, [6]))


def test_texts_do_not_see_each_other(layers):
    packed = short_texts.PackedWeights(layers)
    tokens = tokens_of([5, 3])
    alone = torch.cat([packed(tokens[:5], [5]), packed(tokens[5:], [3])])
    torch.testing.assert_close(packed(tokens, [5, 3]), alone)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_share_texts(layers, threads, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    packed = short_texts.PackedWeights(layers)
    lengths = [3, 32, 31, 1, 32, 7, 2, 32, 32, 16, 5]
    tokens = tokens_of(lengths)
    alone = [packed(part, [len(part)]) for part in tokens.split(lengths)]
    assert torch.equal(packed(tokens, lengths), torch.cat(alone))


def test_a_thread_that_has_searched_shares_texts_as_before(layers, monkeypatch):
    """FAISS leaves torch one thread there."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    packed = short_texts.PackedWeights(layers)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert packed.choose_workers().threads == 3


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no niceness of their own")
def test_threads_that_help_are_as_nice_as_the_caller(layers, monkeypatch):
    """Or searches would wait for texts of an import."""
    seen, both = set(), threading.Barrier(2)

    def look(*_: object) -> None:
        both.wait(10)
        seen.add(os.getpriority(os.PRIO_PROCESS, 0))

    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(short_texts, "pass_layers", look)
    packed = short_texts.PackedWeights(layers)
    for nice in (0, 7):

        def call(nice: int = nice) -> None:
            os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + nice)
            packed(tokens_of([32] * 4), [32] * 4)

        seen.clear()
        caller = threading.Thread(target=call)
        caller.start()
        caller.join()
        assert seen == {os.getpriority(os.PRIO_PROCESS, 0) + nice}


def test_far_apart_states_stay_finite(layers):
    """A softmax of large products does not overflow."""
    states = short_texts.PackedWeights(layers)(1e4 * tokens_of([6]), [6])
    assert states.isfinite().all()


def test_a_network_without_layers_is_as_quick_as_it_can_be():
    nothing = LowerMiniLM(0).eval()
    quicken(nothing)
    (states,) = nothing([parse("dog")])
    assert states.shape == (3, 384)


def test_a_text_has_the_same_states_in_any_batch():
    quick = LowerMiniLM(2).eval()
    quicken(quick)
    sentences = [parse(text) for text in ("a red dog", "dog " * 40, "two cats", "a bird " * 12)]
    together = quick(sentences)
    for at in (0, 2, 3):  # short ones, to the bit
        assert torch.equal(together[at], quick([sentences[at]])[0])
    torch.testing.assert_close(together[1], quick([sentences[1]])[0], rtol=1e-4, atol=1e-5)


def test_threads_record_no_gradients_where_the_caller_does_not():
    networks = [upper_minilm(5, 0.0).eval() for _ in range(2)]
    for network in networks:
        quicken(network)
    mask = torch.ones(2, 70, dtype=torch.bool)  # too long for loops
    with torch.no_grad():
        passed = pass_each(networks, tokens_of([70, 70]), mask)
    assert not any(states.requires_grad for states in passed)
    assert pass_each(networks, tokens_of([70, 70]), mask)[0].requires_grad


STATES = """
import hashlib, torch
from models.text.short_texts import PackedWeights
from models.text.words import PackedLayer
packed = PackedWeights([PackedLayer.load(number) for number in (1, 4)])
torch.manual_seed(0)
states = [packed(torch.randn(length, 384), [length]) for length in (1, 3, 8)]
print(hashlib.sha256(torch.cat(states).numpy().tobytes()).hexdigest())
"""


def test_a_first_start_and_a_later_one_have_the_same_states(tmp_path):
    """One compiles the loops, and the other reads them."""
    about = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", STATES]
    first, later = (
        subprocess.run(  # noqa: S603 - our own command
            command, env=about, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert first == later
    assert list(tmp_path.rglob("*pass_layers*.nbc"))


def test_only_short_texts_of_quick_networks_are_in_half_precision():
    sentences = [parse("A dog runs on the beach."), parse("dog " * short_texts.MOST)]
    plain, quick = LowerMiniLM(2).eval(), LowerMiniLM(2).eval()
    quicken(quick)
    (short, long), (exact_short, exact_long) = (
        [network([sentence])[0] for sentence in sentences] for network in (quick, plain)
    )
    assert torch.equal(long, exact_long)
    assert not torch.equal(short, exact_short)
    assert (short - exact_short).norm() < 1e-3 * exact_short.norm()
    assert torch.equal(quick.train()([sentences[0]])[0], exact_short)
    quick.eval().double()  # copies of weights for single precision are of no use any more
    assert quick([sentences[0]])[0].dtype == torch.float64
