import pytest
import torch

from models.image_towers import correlated as photo
from models.scores.correlation import Correlation, correlate, directions, regularise
from models.scores.scoring import SCORES
from models.text_towers import correlated as sentence
from models.types import PaddedBags

TEXTS = ["A dog runs on the beach", "dog", "Two pinnipeds and a naïve café", "a red car", "snow"]


@pytest.fixture(scope="module", params=["linear", "rbf"])
def towers(request):
    sizes = {"kernel": request.param, "embedding": 4, "landmarks": 5}
    return photo.Model(photo.Config(sizes=(64,), **sizes)), sentence.Model(sentence.Config(**sizes))


def pairs(image, text):
    """Photos with a sentence's features, up to a rotation."""
    generator = torch.Generator().manual_seed(0)
    sentences, _ = text.reader(TEXTS)
    means = torch.stack([words.mean(0) for words in sentences])  # (L, W)
    turn = torch.randn(means.shape[1], image.sight.channels, generator=generator)
    return list((means @ turn).exp()[:, None]), sentences


def solve(image, text, images, sentences):
    image.prepare(images)
    text.prepare(sentences, range(5))
    correlate(image, text, images, sentences, range(5), Correlation(ridge=0.01))
    return SCORES["sum_of_max"](
        image(PaddedBags.of(images)), text(text.precompute(PaddedBags.of(sentences)))
    )


def test_each_photo_answers_its_own_sentence(towers):
    assert solve(*towers, *pairs(*towers)).argmax(1).tolist() == [0, 1, 2, 3, 4]


def test_landmarks_that_repeat_do_no_harm(towers):
    images, sentences = pairs(*towers)
    assert solve(*towers, images, [*sentences[:3], *sentences[:2]]).isfinite().all()


@pytest.mark.parametrize("equal", ["photos", "sentences"])
def test_equal_photos_or_sentences_have_no_correlations(towers, equal):
    images, sentences = pairs(*towers)
    if equal == "photos":
        images = images[:1] * 5
    else:
        sentences = sentences[:1] * 5
    with pytest.raises(ValueError, match=f"all {equal} have the same vector"):
        solve(*towers, images, sentences)


def test_a_singular_covariance_is_refused():
    flat = torch.diag(torch.tensor([1.0, 0.0]))
    with pytest.raises(ValueError, match="hardly vary, and their covariance is singular"):
        directions(torch.eye(2), flat, torch.eye(2), 1)


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
    whole = regularise(flat, torch.eye(2), 0.5)
    torch.testing.assert_close(whole, torch.tensor([[2.5, 0.0], [0.0, 0.5]]), rtol=2e-3, atol=0)
