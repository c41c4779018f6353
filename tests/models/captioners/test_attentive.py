import pytest
import torch
import torch.nn.functional as F

from models import checkpoint
from models.captioners.attentive import Config, Model, text_vectors
from models.captions.captioning import FIRST_WORD
from models.captions.kinds import ThingKind
from models.matcher import Config as MatcherConfig
from models.matcher import TwoTowerMatcher
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
    return TwoTowerMatcher(
        MatcherConfig(image, {"name": "minilm", "options": {"embedding": 16}})
    ).eval()


@pytest.fixture(scope="module")
def inputs(matcher, photos):
    return matcher.image_inputs(photos)


@pytest.fixture(scope="module")
def captioner(matcher, inputs):
    torch.manual_seed(0)
    model = Model(CONFIG).eval()
    texts = ["a dog runs", "the grass", "a dog in the grass"]
    sentences = [[torch.tensor([2, 3, 4])], [torch.tensor([2, 7])], [torch.tensor([1])]]
    model.language.see_by(matcher, inputs, sentences, text_vectors(matcher, texts, 16))
    model.language.begin_words()
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


def test_evidence_for_a_word_makes_it_likelier(captioner, inputs):
    language = captioner.language
    state = language.look(PaddedBags.of(inputs[:1]))
    evidence = state[4]
    outputs, after = language(torch.tensor([[0]]), state)
    more = evidence.clone()
    more[0, 3] += 1.0
    before = language.logits(outputs, after)[0, 0]
    now = language.logits(outputs, (*after[:4], more, after[5]))[0, 0]
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


def test_a_search_steps_as_a_whole_sentence_does(captioner, inputs):
    language = captioner.language
    state = language.look(PaddedBags.of(inputs))
    together, (hidden, cell, *_) = language(torch.tensor([[0, 2, 3]] * 3), state)
    steps = []
    for word in (0, 2, 3):
        outputs, state = language(torch.tensor([[word]] * 3), state)
        steps.append(outputs)
    torch.testing.assert_close(torch.cat(steps, 1), together)
    torch.testing.assert_close(state[0], hidden)
    torch.testing.assert_close(state[1], cell)


def test_no_caption_names_a_kind_that_a_photo_shows_nothing_of(inputs):
    torch.manual_seed(0)
    tower = {"name": "regions_in_context", "options": TOWER | {"classifiers": ("lite0@32",)}}
    options = {"joint": 16, "embedding": 16, "hidden": 16, "attention": 8, "longest": 6}
    kind = {"terms": ["animal"], "temperature": 1.0, "missed": 0.0}
    model = Model(Config(WORDS, tower, **options, shortest=2, kinds=[kind])).eval()
    assert model.config.kinds == (ThingKind(("animal",), 1.0, 0.0),)
    words, least = model.language.kinds.words, model.language.kinds.least
    words[0, WORDS.index("dog")] = 1
    torch.nn.init.constant_(model.language.bias[WORDS.index("dog") + FIRST_WORD], 9.0)
    named = []
    for threshold in (0.0, 1.0):  # every photo shows the kind, and none does
        least.fill_(threshold)
        captions = model.describe(inputs, Generation(beam=3, count=3))
        named.append({"dog" in one.text.lower() for own in captions for one in own})
        assert all(one.log_probability > float("-inf") for own in captions for one in own)
    assert named == [{True}, {False}]


def test_kinds_need_classifiers():
    with pytest.raises(ValueError, match="give the image tower `classifiers`"):
        Model(Config(WORDS, CONFIG.image, joint=16, kinds=(ThingKind(("animal",), 1.0, 0.0),)))


def test_words_have_room_for_the_vectors_that_they_begin_from():
    with pytest.raises(ValueError, match="give at least its 16"):
        Config(WORDS, CONFIG.image, joint=16, embedding=8)


def test_a_captioner_that_sees_by_another_matcher_keeps_its_words(captioner, matcher, inputs):
    torch.manual_seed(1)
    image = {"name": "regions_in_context", "options": TOWER}
    other = TwoTowerMatcher(
        MatcherConfig(image, {"name": "minilm", "options": {"embedding": 16}})
    ).eval()
    moved = Model(CONFIG).eval()
    moved.load_state_dict(captioner.state_dict())
    texts = text_vectors(other, ["a dog runs", "the grass"], 16)
    moved.language.see_by(other, inputs, [[torch.tensor([2, 3])]] * 3, texts)
    torch.testing.assert_close(moved.language.words.weight, captioner.language.words.weight)
    torch.testing.assert_close(moved.language.evidence.names, text_vectors(other, WORDS, 16))
    state = moved.language.tower.state_dict()
    assert all(torch.equal(value, other.image.state_dict()[key]) for key, value in state.items())
