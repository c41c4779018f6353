"""The contract of every pair of towers."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from models import checkpoint, header, registry
from models.encoders.source import EncoderSource
from models.matcher import Config, TwoTowerMatcher
from models.scores.scoring import SCORES
from models.text.parsing import parse
from models.text_towers import late_interaction
from models.types import WHOLE_FRAME, WHOLE_PHOTO, Box, PaddedBags
from tests import encoders

# What makes a tower small; a new one needs no line here, but its tests may be slow.
TINY = {
    "image_towers": {
        "branch": {"sizes": (64,), "hidden": 8, "embedding": 12},
        "correlated": {"sizes": (64,), "embedding": 4},
        "frame": {"sizes": (64,), "components": 6, "embedding": 8},
        "regions": {"sizes": (64,), "embedding": 12},
        "regions_in_context": {"views": ("lite0@32", "lite0@64"), "embedding": 12},
    },
    "text_towers": {
        "branch": {"axes": 3, "components": 2, "principal": 6, "hidden": 8, "embedding": 12},
        "brnn": {"embedding": 12, "hidden": 7},
        "composed": {"relations": ("det", "nsubj"), "embedding": 8},
        "correlated": {"embedding": 4},
        "minilm": {"frequencies": (("a", 0.09),), "embedding": 12, "frozen_layers": 5},
        "pairs": {"pairs": "bigrams", "embedding": 12},
    },
}
# Each tower once, with a quick one of the other side.
PAIRS = [
    *((image, "minilm") for image in registry.names("image_towers")),
    *(("regions", text) for text in registry.names("text_towers") if text != "minilm"),
]
TEXTS = ["A dog runs on the beach.", "dog", "Two pinnipeds, 🐶 and a naïve café", "狗在跑"]


def part(kind, name, **options):
    own = TINY[kind].get(name, {})
    if name == "pretrained":
        own = encoders.options("clip")
    if name == "late_interaction":
        source = EncoderSource.of(encoders.retriever("colpali"))
        own = {"folder": source.folder, "files": source.files}
    return {"name": name, "options": own | options}


def paired(image, text):
    """A matcher of two small towers; the quick one takes the other's size."""
    sides = {"image_towers": part("image_towers", image), "text_towers": part("text_towers", text)}
    quick, kind = ("text_towers", "image_towers") if text == "minilm" else tuple(sides)
    module = registry.find(kind, sides[kind]["name"])
    size = module.Model(module.Config(**sides[kind]["options"])).dimension
    sides[quick]["options"]["embedding"] = size
    return TwoTowerMatcher(Config(image=sides["image_towers"], text=sides["text_towers"]))


def built(image, text):
    """An untrained matcher after a little data, regions off zero."""
    torch.manual_seed(0)
    model = paired(image, text)
    for weight in model.parameters():
        if weight.requires_grad and not weight.any():
            torch.nn.init.normal_(weight, std=0.1)
    photo = torch.zeros(3, 64, 64, dtype=torch.uint8)
    with torch.inference_mode():  # random, because two photos leave most channels silent
        images = [torch.rand_like(own) for own in model.image_inputs([photo] * 2)]
        model.prepare(images, model.sentence_inputs(TEXTS), [0, 0, 1, 1])
    return model.eval()


@pytest.fixture(scope="module", params=PAIRS, ids=" + ".join)
def pair(request):
    return request.param


@pytest.fixture(scope="module")
def matcher(pair):
    return built(*pair)


def packaged(matcher):
    return checkpoint.collect_prefixes(matcher, "packaged")


def close(bags, others):
    for one, other in zip(bags, others, strict=True):
        assert (one.places, one.labels) == (other.places, other.labels)
        torch.testing.assert_close(one.vectors, other.vectors, rtol=1e-3, atol=1e-4)


def test_an_image_is_a_bag_of_places_inside_the_photo(matcher, photos):
    for bag in matcher.embed_images(photos):
        assert bag.vectors.shape == (len(bag), matcher.dimension)
        assert bag.vectors.dtype == torch.float32
        assert bag.vectors.isfinite().all()
        assert all(isinstance(place, Box) for place in bag.places)
        for box in bag.places:
            assert 0 <= box.left < box.right <= 1
            assert 0 <= box.top < box.bottom <= 1
        first = WHOLE_PHOTO if matcher.image.whole_first else "region 0"
        assert (bag.places[0], bag.labels[0]) == (WHOLE_FRAME, first)
        assert len(set(bag.labels)) == len(bag)


def test_a_sentence_is_a_bag_of_places_inside_the_text(matcher):
    for text, bag in zip(TEXTS, matcher.embed_sentences(TEXTS), strict=True):
        assert bag.vectors.shape == (len(bag), matcher.dimension)
        assert bag.vectors.dtype == torch.float32
        assert bag.vectors.isfinite().all()
        words = {text[word.span.start : word.span.end] for word in parse(text).words}
        for span, label in zip(bag.places, bag.labels, strict=True):
            assert 0 <= span.start < span.end <= len(text)
            pieces = isinstance(matcher.text, late_interaction.Model)  # tokens of its own
            assert " " in label or label in words or (pieces and label == span.of(text))


def test_different_photos_and_sentences_get_different_vectors(matcher, photos):
    one, other, _ = matcher.embed_images(photos)
    assert not torch.allclose(one.vectors, other.vectors)
    one, other = matcher.embed_sentences(["dog", "a dog"])
    assert one.vectors.shape != other.vectors.shape or not torch.allclose(
        one.vectors, other.vectors
    )


def test_nothing_gives_nothing(matcher):
    assert matcher.embed_images([]) == matcher.embed_sentences([]) == []


def test_a_batch_equals_one_by_one(matcher, photos):
    close(matcher.embed_images(photos), [matcher.embed_images([p])[0] for p in photos])
    close(matcher.embed_sentences(TEXTS), [matcher.embed_sentences([t])[0] for t in TEXTS])


def test_more_than_a_pass_keeps_its_order(matcher, monkeypatch, photos):
    expected = matcher.embed_images(photos), matcher.embed_sentences(TEXTS)
    monkeypatch.setattr("models.matcher.BATCH", 2)
    monkeypatch.setattr("models.matcher.SENTENCES", 3)
    close(matcher.embed_images(photos), expected[0])
    close(matcher.embed_sentences(TEXTS), expected[1])


def test_encoded_inputs_equal_what_is_embedded(matcher, photos):
    with torch.inference_mode():
        images = matcher.encode_images(PaddedBags.of(matcher.image_inputs(photos)))
        sentences = matcher.encode_sentences(PaddedBags.of(matcher.sentence_inputs(TEXTS)))
    embedded = (matcher.embed_images(photos), matcher.embed_sentences(TEXTS))
    for encoded, bags in zip((images, sentences), embedded, strict=True):
        for vectors, real, bag in zip(encoded.vectors, encoded.mask, bags, strict=True):
            torch.testing.assert_close(vectors[real], bag.vectors, rtol=1e-3, atol=1e-4)


def test_the_score_reaches_every_trained_weight_and_no_packaged_one(matcher, photos):
    images = matcher.encode_images(PaddedBags.of(matcher.image_inputs(photos)))
    sentences = matcher.encode_sentences(PaddedBags.of(matcher.sentence_inputs(TEXTS)))
    matcher.zero_grad()
    scores = SCORES[matcher.score](images, sentences)
    (scores * torch.randn(scores.shape)).sum().backward()
    for key, weight in matcher.named_parameters():
        if key.startswith(packaged(matcher)):
            assert not weight.requires_grad, key
        else:
            assert weight.grad is not None, key
            assert weight.grad.isfinite().all(), key
            assert weight.grad.any(), key


def test_training_mode_leaves_packaged_parts_as_they_are(matcher):
    matcher.train()
    modes = {
        module.training
        for key, module in matcher.named_modules()
        if key.startswith(packaged(matcher))
    }
    matcher.eval()
    assert modes == {False}


def test_a_checkpoint_holds_no_packaged_weight_and_answers_alike(matcher, photos, tmp_path):
    path = tmp_path / "matcher.safetensors"
    checkpoint.save(path, "matchers", "mine", matcher, {"seed": 1})
    loaded = checkpoint.load(path)
    stored = checkpoint.collect_weights(loaded.model)
    assert stored
    assert not any(key.startswith(packaged(matcher)) for key in stored)
    assert loaded.model.config == matcher.config
    assert (loaded.facts, loaded.fingerprint) == ({"seed": 1}, header.fingerprint(path))
    assert loaded.model.image_key() == matcher.image_key()
    assert loaded.model.sentence_key() == matcher.sentence_key()
    for of in ("embed_images", "embed_sentences"):
        given = photos if of == "embed_images" else TEXTS
        pair = getattr(matcher, of)(given), getattr(loaded.model, of)(given)
        for one, other in zip(*pair, strict=True):
            torch.testing.assert_close(one.vectors, other.vectors, rtol=0.02, atol=0.02)


def test_two_threads_get_what_one_gets(matcher, photos):
    alone = matcher.embed_images(photos), matcher.embed_sentences(TEXTS)
    with ThreadPoolExecutor(2) as pool:
        images = [pool.submit(matcher.embed_images, photos) for _ in range(2)]
        sentences = [pool.submit(matcher.embed_sentences, TEXTS) for _ in range(4)]
    for bags in images:
        close(bags.result(), alone[0])
    for bags in sentences:
        close(bags.result(), alone[1])


@pytest.mark.parametrize("text", ["", "...", "🐶", "dog " * 10_000])
def test_a_text_without_words_or_with_too_many_is_refused(matcher, text):
    with pytest.raises(ValueError, match="words"):
        matcher.embed_sentences(["dog", text])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_cuda_device_gives_the_same_bags(pair, photos):
    matcher = built(*pair)
    images, sentences = matcher.embed_images(photos), matcher.embed_sentences(TEXTS)
    checkpoint.move(matcher, "cuda")
    close(matcher.embed_images(photos), images)
    close(matcher.embed_sentences(TEXTS), sentences)


@pytest.mark.parametrize("score", ["sum_of_max", "mean_of_positive"])
def test_scores_are_those_of_the_papers(score, photos):
    """Equation 8 of Karpathy & Fei-Fei 2015 and equation 6 of Karpathy et al. 2014, literally."""
    torch.manual_seed(1)
    sides = part("image_towers", "regions"), part("text_towers", "pairs")
    matcher = TwoTowerMatcher(Config(*sides, score=score)).eval()
    torch.nn.init.normal_(matcher.image.regions.project.weight, std=0.1)
    images, sentences = matcher.embed_images(photos), matcher.embed_sentences(TEXTS)
    scores = SCORES[matcher.score](
        *(PaddedBags.of([bag.vectors for bag in bags]) for bags in (images, sentences))
    )
    for k, g_k in enumerate(images):
        for l, g_l in enumerate(sentences):  # noqa: E741 - the papers' letter
            products = [[float(v @ s) for v in g_k.vectors] for s in g_l.vectors]
            total = (
                sum(max(row) for row in products)
                if score == "sum_of_max"
                else sum(max(0.0, one) for row in products for one in row)
                / (len(g_k) * (len(g_l) + 5))
            )
            assert float(scores[k, l]) == pytest.approx(total, rel=1e-4, abs=1e-5)


def test_the_shipped_score_is_the_match_of_the_wholes_plus_what_regions_add(photos):
    torch.manual_seed(0)
    matcher = paired("regions_in_context", "minilm").eval()
    torch.nn.init.normal_(matcher.image.regions.project.weight)
    (image,), (sentence,) = matcher.embed_images(photos[:1]), matcher.embed_sentences(TEXTS[:1])
    f, s = image.vectors[0], sentence.vectors
    added = image.vectors - f  # l_i, and l_0 = 0
    assert added[1:].abs().max() > 0
    expected = f @ s.sum(0) + (s @ added.T).max(dim=1).values.sum()
    (score,) = SCORES[matcher.score](PaddedBags.of([image.vectors]), PaddedBags.of([s]))[0]
    torch.testing.assert_close(score, expected, rtol=1e-4, atol=1e-4)


def test_a_prior_makes_every_word_of_alike_regions_take_the_likeliest_box(photos):
    image = part("image_towers", "regions_in_context", likelihood=True)
    matcher = TwoTowerMatcher(Config(image, part("text_towers", "minilm", prior=2.0))).eval()
    (image,), (sentence,) = matcher.embed_images(photos[:1]), matcher.embed_sentences(TEXTS[:1])
    assert (sentence.vectors @ image.vectors.T).argmax(dim=1).tolist() == [1] * 6


def test_euclidean_scores_are_negative_squared_distances(photos):
    sides = part("image_towers", "frame", unit=False), part("text_towers", "composed", unit=False)
    torch.manual_seed(0)
    plain = TwoTowerMatcher(Config(*sides)).eval()
    model = TwoTowerMatcher(Config(*sides, euclidean=True)).eval()
    checkpoint.restore(model, checkpoint.collect_weights(plain))
    v, y = (
        torch.cat([bag.vectors for bag in bags])
        for bags in (plain.embed_images(photos), plain.embed_sentences(TEXTS))
    )
    bags = model.embed_images(photos), model.embed_sentences(TEXTS)
    assert bags[0][0].vectors.shape == (1, model.dimension) == (1, plain.dimension + 2)
    scores = SCORES[model.score](*(PaddedBags.of([bag.vectors for bag in own]) for own in bags))
    torch.testing.assert_close(scores, -torch.cdist(v, y).square(), rtol=1e-3, atol=1e-4)


def test_a_correlation_is_solved_for_on_all_pairs_of_train(photos):
    sides = part("image_towers", "correlated"), part("text_towers", "correlated")
    matcher = TwoTowerMatcher(Config(*sides, correlation={"ridge": 0.01, "power": 0.0}))
    with torch.inference_mode():
        inputs = matcher.image_inputs(photos), matcher.sentence_inputs(TEXTS)
    matcher.prepare(*inputs, [0, 1, 2, 2])
    images, sentences = (
        encode(PaddedBags.of(own))
        for encode, own in zip(
            (matcher.encode_images, matcher.encode_sentences), inputs, strict=True
        )
    )
    assert SCORES[matcher.score](images, sentences).argmax(0)[:3].tolist() == [0, 1, 2]


def test_a_correlation_needs_two_views():
    with pytest.raises(ValueError, match=r"towers regions \+ brnn have no views to correlate"):
        TwoTowerMatcher(
            Config(part("image_towers", "regions"), part("text_towers", "brnn"), correlation={})
        )


def test_towers_of_different_sizes_are_refused():
    text = part("text_towers", "brnn", embedding=13)
    with pytest.raises(
        ValueError, match="regions makes vectors of 12 numbers, text tower brnn of 13"
    ):
        TwoTowerMatcher(Config(part("image_towers", "regions"), text))


def test_an_unknown_tower_or_score_is_refused_with_those_there_are():
    sides = part("image_towers", "regions"), part("text_towers", "brnn")
    with pytest.raises(ValueError, match="no score 'cosine'; there are: sum_of_max, mean_of"):
        Config(*sides, score="cosine")
    with pytest.raises(LookupError, match="no model 'eyes' among image_towers; there are: branch"):
        Config({"name": "eyes", "options": {}}, sides[1])


def test_a_tuned_cnn_trains_and_is_in_the_checkpoint():
    text = part("text_towers", "brnn")
    tuned = TwoTowerMatcher(Config(part("image_towers", "regions", tuned=True), text)).train()
    frozen = TwoTowerMatcher(Config(part("image_towers", "regions"), text)).train()
    assert (tuned.tuned, frozen.tuned) == (True, False)
    for model in (tuned, frozen):
        assert not model.image.sight.features.training  # batch norms keep their means
        weights = [w for _, w in model.image.sight.features.named_parameters()]
        assert any(weight.requires_grad for weight in weights) == model.tuned
        stored = checkpoint.collect_weights(model)
        assert any("sight" in key for key in stored) == model.tuned


def test_learned_proposals_are_in_the_checkpoint_and_the_packaged_cnn_is_not():
    image = part("image_towers", "regions", proposals="learned")
    stored = checkpoint.collect_weights(TwoTowerMatcher(Config(image, part("text_towers", "brnn"))))
    assert {key.split(".")[2] for key in stored if "sight" in key} == {"proposer"}
