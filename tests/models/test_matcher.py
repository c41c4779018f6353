"""The contract that every matcher in the registry keeps."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from models import checkpoint, registry
from models.parsing import parse
from models.scoring import SCORES
from models.types import WHOLE_FRAME, WHOLE_PHOTO, Box, PaddedBags

# What makes a matcher small; a new one needs no line here, but its tests may be slow.
TINY = {
    "defrag": {"fragments": "bigrams", "sizes": (64,), "embedding": 12},
    "dvsa": {"sizes": (64,), "embedding": 12, "hidden": 7},
    "tessera": {
        "frequencies": (("a", 0.09),),
        "sizes": (32, 64),
        "embedding": 12,
        "frozen_layers": 5,
    },
    "cca": {"sizes": (64,), "embedding": 4, "power": 0.0},  # two photos correlate along one line
    "dtrnn": {"relations": ("det", "nsubj"), "sizes": (64,), "hidden": 8, "components": 6},
    "devise": {"sizes": (64,)},
    "two_branch": {
        "sizes": (64,),
        "axes": 3,
        "components": 2,
        "principal": 6,
        "hidden": 8,
        "embedding": 12,
    },
}
TEXTS = ["A dog runs on the beach.", "dog", "Two pinnipeds, 🐶 and a naïve café", "狗在跑"]


def built(name):
    """An untrained matcher that has seen a little data, its regions moved away from zero."""
    torch.manual_seed(0)
    module = registry.find("matchers", name)
    model = module.Model(module.Config(**TINY.get(name, {})))
    for weight in model.parameters():
        if weight.requires_grad and not weight.any():
            torch.nn.init.normal_(weight, std=0.1)
    if hasattr(model, "prepare"):
        photo = torch.zeros(3, 64, 64, dtype=torch.uint8)
        with torch.inference_mode():  # random, because two photos leave most channels silent
            images = [torch.rand_like(own) for own in model.image_inputs([photo] * 2)]
            model.prepare(images, model.sentence_inputs(TEXTS), [0, 0, 1, 1])
    return model.eval()


@pytest.fixture(scope="module", params=registry.names("matchers"))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def matcher(name):
    return built(name)


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
        assert (bag.places[0], bag.labels[0]) == (WHOLE_FRAME, WHOLE_PHOTO)
        assert len(set(bag.labels)) == len(bag)


def test_a_sentence_is_a_bag_of_places_inside_the_text(matcher):
    for text, bag in zip(TEXTS, matcher.embed_sentences(TEXTS), strict=True):
        assert bag.vectors.shape == (len(bag), matcher.dimension)
        assert bag.vectors.dtype == torch.float32
        assert bag.vectors.isfinite().all()
        words = {text[word.span.start : word.span.end] for word in parse(text).words}
        for span, label in zip(bag.places, bag.labels, strict=True):
            assert 0 <= span.start < span.end <= len(text)
            assert " " in label or label in words


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
        if key.startswith(matcher.packaged):
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
        if key.startswith(matcher.packaged)
    }
    matcher.eval()
    assert modes == {False}


def test_a_checkpoint_holds_no_packaged_weight_and_answers_alike(name, matcher, photos, tmp_path):
    path = tmp_path / "matcher.safetensors"
    checkpoint.save(path, "matchers", name, matcher, {"seed": 1})
    loaded = checkpoint.load(path)
    stored = checkpoint.trained_state(loaded.model)
    assert stored
    assert not any(key.startswith(matcher.packaged) for key in stored)
    assert (loaded.facts, loaded.fingerprint) == ({"seed": 1}, checkpoint.fingerprint(path))
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
def test_a_cuda_device_gives_the_same_bags(name, photos):
    matcher = built(name)
    images, sentences = matcher.embed_images(photos), matcher.embed_sentences(TEXTS)
    matcher.to("cuda")
    close(matcher.embed_images(photos), images)
    close(matcher.embed_sentences(TEXTS), sentences)
