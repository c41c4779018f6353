import pytest
import torch
import torch.nn.functional as F

from models import checkpoint
from models.captioners.attentive import Config, Evidence, Model, reliability, text_vectors
from models.captioning import FIRST_WORD
from models.matcher import Config as MatcherConfig
from models.matcher import Matcher
from models.registry import Generation
from models.types import PaddedBags

TOWER = {"views": ("lite0@32", "lite0@64"), "embedding": 16}
WORDS = ("a", "dog", "runs", "in", "the", "grass")
CONFIG = Config(
    words=WORDS,
    image={"name": "regions_in_context", "options": TOWER},
    joint=16,
    embedding=16,
    hidden=16,
    attention=8,
    longest=6,
    shortest=2,
)


@pytest.fixture(scope="module")
def matcher():
    torch.manual_seed(0)
    image = {"name": "regions_in_context", "options": TOWER}
    return Matcher(MatcherConfig(image, {"name": "minilm", "options": {"embedding": 16}})).eval()


@pytest.fixture(scope="module")
def inputs(matcher, photos):
    return matcher.image_inputs(photos)


@pytest.fixture(scope="module")
def captioner(matcher, inputs):
    torch.manual_seed(0)
    model = Model(CONFIG).eval()
    texts = ["a dog runs", "the grass", "a dog in the grass"]
    sentences = [[torch.tensor([2, 3, 4])], [torch.tensor([2, 7])], [torch.tensor([1])]]
    model.language.prepare(matcher, inputs, sentences, text_vectors(matcher, texts, 16))
    return model


def test_attention_is_over_the_boxes_and_sums_to_one(captioner, inputs):
    ((caption,), *_) = captioner.describe(inputs, Generation(beam=3))
    for word in caption.words:
        assert word.attention.shape == (20,)
        assert word.attention.sum().item() == pytest.approx(1, abs=1e-5)
        assert (word.attention >= 0).all()


def test_attention_to_any_view_is_attention_to_the_whole_photo(captioner, inputs):
    language = captioner.language
    state = language.look(PaddedBags.of(inputs))
    outputs, after = language(torch.tensor([[0, 2]] * 3), state)
    weights = language.weights(outputs, after)  # two views, 19 boxes, nothing
    looked = language.attention(outputs, after)
    torch.testing.assert_close(looked[..., 0], weights[..., [0, 1, -1]].sum(-1))
    torch.testing.assert_close(looked[..., 1:], weights[..., 2:-1])


def test_evidence_is_how_much_more_than_usual_a_photo_is_like_a_word():
    """e_w = (max_i v_i·n_w − μ_w) / σ_w, by a literal loop."""
    torch.manual_seed(0)
    evidence = Evidence(words=3, joint=4)
    evidence.names.copy_(torch.randn(3, 4))
    evidence.photos.copy_(torch.tensor([[0.1, 0.2, 0.3], [1.0, 2.0, 0.5]]))
    fragments = torch.randn(1, 5, 4)
    found = evidence(evidence.of_photos(fragments), evidence.photos)[0]
    assert found[:FIRST_WORD].tolist() == [0, 0]
    for w in range(3):
        best = max(float(v @ evidence.names[w]) for v in fragments[0])
        expected = (best - float(evidence.photos[0, w])) / float(evidence.photos[1, w])
        assert float(found[FIRST_WORD + w]) == pytest.approx(max(-4, min(8, expected)), abs=1e-5)


def test_evidence_for_a_word_makes_it_likelier(captioner, inputs):
    language = captioner.language
    state = language.look(PaddedBags.of(inputs[:1]))
    evidence = state[-1]
    outputs, after = language(torch.tensor([[0]]), state)
    more = evidence.clone()
    more[0, 3] += 1.0
    before = language.logits(outputs, after)[0, 0]
    now = language.logits(outputs, (*after[:-1], more))[0, 0]
    gate = F.softplus(language.gate(outputs))[0, 0, 0]
    torch.testing.assert_close(now[3] - before[3], gate)
    assert torch.equal(now[:3], before[:3])


def test_a_sentence_can_take_the_place_of_a_photo(captioner, matcher):
    vectors = text_vectors(matcher, ["a dog", "the grass"], 16)
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(2))
    language = captioner.language
    state = language.look_at_texts(vectors)
    outputs, after = language(torch.tensor([[0, 2], [0, 2]]), state)
    assert language.logits(outputs, after).shape == (2, 2, len(WORDS) + FIRST_WORD)
    assert language.weights(outputs, after).tolist() == [[[1.0]] * 2] * 2  # nothing to look at


def test_logits_of_some_places_are_those_of_all(captioner, inputs):
    language = captioner.language
    state = language.look(PaddedBags.of(inputs))
    outputs, after = language(torch.tensor([[0, 2, 3]] * 3), state)
    where = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    every = language.logits(outputs, after)
    torch.testing.assert_close(language.logits_where(where, outputs, after), every[where])


def test_what_is_usual_is_measured_on_train(captioner, matcher, inputs):
    language = captioner.language
    fragments = language.fragments(PaddedBags.of(inputs))
    torch.testing.assert_close(
        language.photo_mean, F.normalize(fragments[:, 0], dim=-1).mean(0), rtol=1e-4, atol=1e-5
    )
    similar = (fragments @ language.evidence.names.T).amax(1)
    torch.testing.assert_close(language.evidence.photos[0], similar.mean(0))


def test_training_moves_neither_tower_nor_sight(captioner):
    model = Model(CONFIG).train()
    frozen = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    assert all(name.startswith(("sight.", "language.tower.")) for name in frozen)
    assert not any(part.training for part in model.language.tower.modules())


def test_a_checkpoint_describes_as_its_model_did(captioner, inputs, tmp_path):
    file = tmp_path / "captioner.safetensors"
    checkpoint.save(file, "captioners", "attentive", captioner, {})
    assert file.stat().st_size < 500_000
    loaded = checkpoint.load(file).model
    assert loaded.sight.key() == captioner.sight.key()
    chances = []
    for model in (captioner, loaded):
        state = model.language.look(PaddedBags.of(inputs))
        logits = model.language.logits(*model.language(torch.tensor([[0, 2, 3]] * 3), state))
        chances.append(logits.log_softmax(-1))
    torch.testing.assert_close(*chances, atol=0.02, rtol=0.02)  # half precision


def test_words_whose_evidence_tells_photos_apart_are_reliable():
    torch.manual_seed(0)
    has = torch.rand(400, 3) < torch.tensor([0.5, 0.5, 0.01])
    similarities = torch.randn(400, 3)
    similarities[:, 0] += 5 * has[:, 0]
    similarities[:, 2] += 5 * has[:, 2]  # of too few photos
    found = reliability(similarities, has)
    assert found[0] == 1
    assert found[1] < 0.2
    assert found[2] == 0


def test_a_word_is_doubted_where_little_speaks_for_it_and_much_for_others():
    """d_w = ρ_w max(0, (ē − e_w) / 2 − e_w), by a literal loop."""
    evidence = Evidence(words=4, joint=2)
    evidence.reliability.copy_(torch.tensor([1.0, 1.0, 0.5, 0.0]))
    e = torch.tensor([[0.0, 0.0, 6.0, 0.5, -1.0, -1.0]])
    most = float(e.mean())
    found = evidence.doubt(e)[0].tolist()
    for at, rho in enumerate([0, 0, 1.0, 1.0, 0.5, 0.0]):
        value = float(e[0, at])
        assert found[at] == pytest.approx(rho * max(0.0, (most - value) / 2 - value), abs=1e-6)
    assert found[2] == 0
    assert found[4] > 0


def test_the_probability_of_a_caption_is_that_of_its_words_with_doubt(captioner, inputs):
    evidence = captioner.language.evidence
    before = evidence.reliability.clone()
    evidence.reliability.copy_(torch.linspace(0, 1, len(WORDS)))
    doubted = captioner.describe(inputs, Generation(beam=2, longest=2))
    assert captioner.start(inputs)[1][-1].max() > 0
    evidence.reliability.copy_(before)
    for (caption,) in doubted:  # cut off after two words, so without an end
        words = sum(word.log_probability for word in caption.words)
        assert caption.log_probability == pytest.approx(words, abs=1e-4)
