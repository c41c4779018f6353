import pytest
import torch

from models.matchers.cca import Config, Model, directions, regularised
from models.scoring import sum_of_max
from models.types import PaddedBags

TEXTS = ["A dog runs on the beach", "dog", "Two pinnipeds and a naïve café", "a red car", "snow"]


def pairs(kernel):
    """Photos whose features a sentence's words say, up to a rotation, and a matcher of them."""
    torch.manual_seed(0)
    matcher = Model(Config(kernel=kernel, sizes=(64,), embedding=4, landmarks=5, ridge=0.01))
    sentences = matcher.sentence_inputs(TEXTS)
    said = torch.stack([words.mean(0) for words in sentences])  # (L, W)
    photos = (said @ torch.randn(said.shape[1], matcher.sight.channels)).exp()
    return matcher, list(photos[:, None]), sentences


def scores(matcher, images, sentences):
    return sum_of_max(
        matcher.encode_images(PaddedBags.of(images)),
        matcher.encode_sentences(PaddedBags.of(sentences)),
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_each_photo_answers_its_own_sentence(kernel):
    matcher, images, sentences = pairs(kernel)
    matcher.prepare(images, sentences, range(5))
    assert scores(matcher, images, sentences).argmax(1).tolist() == [0, 1, 2, 3, 4]


def test_directions_correlate_as_the_definition_says():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(500, 4, generator=generator)
    y = torch.stack([x[:, 0] * 2 - x[:, 1], *torch.randn(2, 500, generator=generator)], dim=1)
    x, y = x - x.mean(0), y - y.mean(0)
    a, b, correlations = directions(x.T @ x / 500, y.T @ y / 500, x.T @ y / 500, 3)
    u, v = x @ a, y @ b
    torch.testing.assert_close(u.T @ u / 500, torch.eye(3), rtol=0, atol=1e-4)
    torch.testing.assert_close(v.T @ v / 500, torch.eye(3), rtol=0, atol=1e-4)
    torch.testing.assert_close(u.T @ v / 500, correlations.diag(), rtol=0, atol=1e-4)
    assert correlations[0] == pytest.approx(1, abs=1e-4)
    assert correlations[1] < 0.2


def test_a_ridge_makes_a_flat_covariance_whole():
    flat = torch.diag(torch.tensor([2.0, 0.0]))
    whole = regularised(flat, torch.eye(2), 0.5)
    torch.testing.assert_close(whole, torch.tensor([[2.5, 0.0], [0.0, 0.5]]), rtol=2e-3, atol=0)


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match="linear, rbf"):
        Model(Config(kernel="cubic", sizes=(64,)))


def test_landmarks_that_repeat_do_no_harm():
    matcher, images, sentences = pairs("rbf")
    repeated = [*sentences[:3], *sentences[:2]]
    matcher.prepare(images, repeated, range(5))
    assert scores(matcher, images, repeated).isfinite().all()
