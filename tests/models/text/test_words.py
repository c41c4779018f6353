import pytest
import torch

from models.text.parsing import parse
from models.text.words import (
    BRNN,
    MINILM_HIDDEN,
    LowerMiniLM,
    Vocabulary,
    WordVectors,
    minilm_folder,
    minilm_weights,
    piece,
    upper_minilm,
)
from models.types import PaddedBags

SENTENCES = (
    "A dog runs",
    "Two pinnipeds antidisestablishmentarianistically photographed",
    "dog",
    "naïve café 狗在跑 🐶 ½",
)


@pytest.fixture(scope="module")
def lower():
    return LowerMiniLM(2)


@pytest.fixture(scope="module")
def vectors():
    return WordVectors()


@pytest.fixture(scope="module")
def hidden_states():
    """transformers' own states of every layer for one sentence.

    The input, layer 1, layer 2 …
    """

    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig.from_json_file(minilm_folder() / "config.json")
    network = transformers.BertModel(config, add_pooling_layer=False).eval()
    network.load_state_dict(minilm_weights(), strict=False)

    def of(text):
        ids = torch.tensor([piece(parse(text)).ids])
        with torch.inference_mode():
            return network(ids, output_hidden_states=True).hidden_states

    return of


def brnn(dtype=torch.float64):
    torch.manual_seed(0)
    network = BRNN(words=4, hidden=5, embedding=3, dropout=0.5).to(dtype).eval()
    for recurrent in (network.forwards, network.backwards):
        torch.nn.init.normal_(recurrent.weight, std=0.4)
        torch.nn.init.normal_(recurrent.bias, std=0.4)
    return network


def literal_brnn(network, x):
    """Eq. 3-6, word by word."""

    def f(x):
        return x.clamp(min=0)

    e = [f(network.enter(word)) for word in x]
    T = len(e)
    h_forward, h_backward = {-1: torch.zeros_like(e[0])}, {T: torch.zeros_like(e[0])}
    W_f, b_f = network.forwards.weight, network.forwards.bias
    W_b, b_b = network.backwards.weight, network.backwards.bias
    for t in range(T):
        h_forward[t] = f(e[t] + W_f @ h_forward[t - 1] + b_f)
    for t in reversed(range(T)):
        h_backward[t] = f(e[t] + W_b @ h_backward[t + 1] + b_b)
    return torch.stack([f(network.project(h_forward[t] + h_backward[t])) for t in range(T)])


def test_brnn_of_ones_counts_the_words_on_both_sides():
    network = BRNN(words=1, hidden=1, embedding=1, dropout=0.0).eval()
    with torch.no_grad():
        for weight in network.parameters():
            weight.fill_(0.0 if weight.ndim == 1 else 1.0)
        s = network(torch.ones(1, 3, 1), torch.ones(1, 3, dtype=torch.bool))
    assert s[0, :, 0].tolist() == [1 + 3, 2 + 2, 3 + 1]


def test_brnn_equals_the_literal_loop():
    network, x = brnn(), torch.randn(5, 4, dtype=torch.float64)
    s = network(x[None], torch.ones(1, 5, dtype=torch.bool))[0]
    assert s.count_nonzero() > 3
    torch.testing.assert_close(s, literal_brnn(network, x))


def test_brnn_of_a_padded_batch_equals_one_by_one():
    network = brnn()
    sentences = [torch.randn(T, 4, dtype=torch.float64) for T in (1, 4, 2)]
    batch = PaddedBags.of(sentences)
    together = network(batch.vectors, batch.mask)
    for own, s, real in zip(sentences, together, batch.mask, strict=True):
        torch.testing.assert_close(s[real], literal_brnn(network, own))


def test_brnn_gradients_are_those_of_finite_differences():
    network, mask = brnn(), torch.tensor([[True] * 3, [True, False, False]])
    x, weights = torch.randn(2, 3, 4, dtype=torch.float64), tuple(network.parameters())
    names = [name for name, _ in network.named_parameters()]

    def s(*values):
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(network, given, (x, mask))[mask]

    assert torch.autograd.gradcheck(s, weights)


def test_a_vocabulary_ignores_case_and_knows_what_it_lacks():
    vocabulary = Vocabulary(("dog", "runs"))
    assert vocabulary.encode(parse("DOG, pinniped Runs")).tolist() == [1, 0, 2]
    assert len(vocabulary) == 3


def test_lower_layers_equal_transformers(lower, hidden_states):
    for text, states in zip(SENTENCES, lower(list(map(parse, SENTENCES))), strict=True):
        reference = hidden_states(text)[2][0]  # (P, H)
        owners = piece(parse(text)).word_ids
        assert states.shape == (len(parse(text).words) + 2, MINILM_HIDDEN)
        for t in range(len(parse(text).words)):
            own = reference[[i for i, word in enumerate(owners) if word == t]]
            torch.testing.assert_close(states[t + 1], own.mean(0), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(states[0], reference[0], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(states[-1], reference[-1], rtol=1e-4, atol=1e-4)


def test_upper_layers_continue_to_transformers_last_state(hidden_states):
    upper = upper_minilm(2, dropout=0.1).eval()
    states = [hidden_states(text) for text in SENTENCES]
    for some in ([0], [1], [0, 1]):  # alone there is no padding
        batch = PaddedBags.of([states[at][2][0] for at in some])
        tokens = batch.vectors[batch.mask]
        with torch.inference_mode():
            for layer in upper:
                tokens = layer(tokens, batch.mask)
        last = torch.cat([states[at][-1][0] for at in some])
        torch.testing.assert_close(tokens, last, rtol=1e-4, atol=1e-4)


def test_tuning_the_upper_layers_leaves_the_packaged_network_alone():
    upper = upper_minilm(5, dropout=0.0)
    name = "encoder.layer.5.output.dense.weight"
    before = minilm_weights()[name].clone()
    with torch.no_grad():
        upper[0].narrow.weight += 1
    assert torch.equal(minilm_weights()[name], before)


@pytest.mark.parametrize("text", ["pinnipeds", "café", "狗", "𝔘𝔫𝔦", "x" * 3000, "🐶 x", "e\u0301"])
def test_any_word_has_a_state(lower, text):
    (states,) = lower([parse(text)])
    assert states.shape == (3, MINILM_HIDDEN)
    assert states.isfinite().all()


def test_more_pieces_than_positions_are_refused(lower):
    long = parse("antidisestablishmentarianistically " * 100)
    with pytest.raises(ValueError, match="pieces; send a shorter sentence"):
        lower([long])


def test_lower_layers_are_frozen(lower):
    assert not any(weight.requires_grad for weight in lower.parameters())


def test_a_word_has_one_vector_in_any_sentence_batch_and_case(vectors):
    dog, black = vectors([parse("a black dog")])[0][[2, 1]]
    batch = vectors([parse("DOG"), parse("Dog, black Dog"), parse("two pinnipeds and a zebra")])
    for one in (batch[0][0], batch[1][0], batch[1][2]):
        torch.testing.assert_close(one, dog, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(batch[1][1], black, rtol=1e-3, atol=1e-4)


def test_different_words_have_different_vectors_of_length_one(vectors):
    dog, puppy, sofa = vectors([parse("dog puppy sofa")])[0]
    torch.testing.assert_close(torch.stack([dog, puppy, sofa]).norm(dim=1), torch.ones(3))
    assert dog @ puppy > dog @ sofa


@pytest.mark.parametrize(
    "text", ["qwyjibo", "caf\u00e9 \u72d7\u5728", "\U0001d518\U0001d52b", "x" * 3000]
)
def test_no_word_lacks_a_vector(vectors, text):
    (own,) = vectors([parse(text)])
    assert own.shape == (len(parse(text).words), MINILM_HIDDEN)
    assert own.isfinite().all()


def test_word_vectors_are_frozen(vectors):
    assert not any(weight.requires_grad for weight in vectors.parameters())
