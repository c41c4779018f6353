"""Tests of the names of classes in fragments."""

import pytest
import torch
import torch.nn.functional as F

from models.image_towers import regions_in_context
from models.matcher import Config, TowerOptions, TwoTowerMatcher
from models.text import classes
from models.text_towers import minilm
from models.types import PaddedBags
from models.vision import backbones, conse

E = 16
CLOCK = 409  # "analog clock"
LEXICON = (("a", 0.1), ("the", 0.1), ("on", 0.1))


@pytest.fixture(scope="module")
def matcher():
    """An untrained matcher with the names of classes."""
    torch.manual_seed(0)
    image = regions_in_context.Config(
        views=("lite0@32", "lite0@64"),
        classifiers=("lite0@32",),
        region_classes=0.5,
        embedding=8,
        conse=E,
    )
    text = minilm.Config(embedding=8, frozen_layers=5, frequencies=LEXICON, conse=E)
    made = TwoTowerMatcher(
        Config(TowerOptions("regions_in_context", image), TowerOptions("minilm", text))
    )
    made.begin()
    return made.eval()


def asked(matcher, text):
    """A text's names: its fragments' last numbers (T, E)."""
    (bag,) = matcher.embed_sentences([text])
    return bag.vectors[:, -E:]


def test_a_photo_has_the_mean_name_of_its_classes_along_the_directions_in_which_they_differ():
    p = torch.rand(2, 1000).softmax(-1)
    photos = conse.NamedPhotos(E)
    photos.begin()
    for own, found in zip(p, photos(p), strict=True):
        mean = sum(share * name for share, name in zip(own, classes.vectors(), strict=True))
        expected = F.normalize(classes.directions(E).T @ mean, dim=0)
        torch.testing.assert_close(found, conse.SCALE * expected, rtol=1e-3, atol=1e-4)


def test_words_share_the_name_that_a_text_asks_for(matcher):
    """Σ_t shares = γ n^−π q / ε with q along Bᵀ (t − m), t as names of classes have one."""
    text = "an analog clock"
    t = classes.sentence_vectors([text])[0]
    q = F.normalize(classes.directions(E).T @ (t - classes.mean_name()), dim=0)
    expected = conse.GAIN * 3**-conse.POWER * q / conse.SCALE
    torch.testing.assert_close(asked(matcher, text).sum(0), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "content"), [("clock", 1), ("the clock", 1.09), ("clock face", 2)]
)
def test_names_count_less_the_more_words_a_text_has(matcher, text, content):
    length = float(asked(matcher, text).sum(0).norm())
    assert length == pytest.approx(conse.GAIN / conse.SCALE * content**-conse.POWER, rel=0.01)


def test_a_word_asks_for_the_class_that_it_names(matcher):
    called = matcher.image.conse(torch.eye(1000))
    scores = called @ asked(matcher, "an analog clock").sum(0)
    assert CLOCK in scores.topk(5).indices


def test_all_fragments_of_a_photo_are_called_alike_so_that_no_box_is_meant(matcher, photos):
    for bag in matcher.embed_images(photos):
        called = bag.vectors[:, -E:]
        assert torch.equal(called, called[:1].expand(20, -1))
        assert float(called[0].norm()) == pytest.approx(conse.SCALE, rel=1e-4)


def test_photos_are_called_what_the_whole_frame_shows(matcher):
    """Classes of regions are left out, despite `region_classes`."""
    inputs = torch.rand(1, 6, 1280)  # two views, four boxes
    frame = torch.softmax(backbones.classifier("lite0")(inputs[0, 0]), 0)
    with torch.no_grad():
        found = matcher.image(PaddedBags(inputs, torch.ones(1, 6, dtype=torch.bool))).vectors
    expected = matcher.image.conse(frame[None])[0]
    torch.testing.assert_close(found[0, 0, -E:], expected, rtol=1e-4, atol=1e-4)


def test_padding_changes_nothing(matcher):
    texts = ["clock", "two people wait beside a large clock in the station"]
    together = matcher.embed_sentences(texts)
    for text, bag in zip(texts, together, strict=True):
        torch.testing.assert_close(bag.vectors[:, -E:], asked(matcher, text), rtol=1e-3, atol=1e-5)


def test_photos_without_classifiers_have_no_names():
    with pytest.raises(ValueError, match="name some in classifiers"):
        regions_in_context.Model(regions_in_context.Config(conse=4))
