"""Presence is fitted to known labels and nouns."""

from dataclasses import replace

import pytest
import torch

from models.checkpoint import Checkpoint
from models.scores.calibration import Calibration
from models.scores.presence import judge_photo
from models.text.query_drafts import of_things
from models.types import FragmentBag, Span
from tests.colours import Colours
from training.data.corpus import Corpus, Example
from training.matchers.probabilities import presence, presence_truth
from training.matchers.probabilities.presence_truth import PresenceTruth
from training.runs.progress import silent

NAMES = ("red", "lime", "blue")


@pytest.fixture(scope="module")
def truth():
    """Photos of four grey regions, some of them red, lime or blue."""
    generator, matcher = torch.Generator().manual_seed(0), Colours()
    shown = (torch.rand(600, 3, generator=generator) < 0.3).to(torch.int8)
    colours = torch.stack([matcher.word(name) for name in NAMES])
    noise = 0.3 * torch.randn(600, 4, 3, generator=generator)
    noise[:, :3] += shown[:, :, None] * colours
    texts = matcher.embed_sentences(NAMES)
    return PresenceTruth([photo.half() for photo in noise], NAMES, texts, shown)


def test_what_is_there_is_said_to_be_there_and_of_what_is_not_five_percent(truth, monkeypatch):
    monkeypatch.setattr(presence, "STEPS", 200)
    fitted = presence.fit_presence(truth)
    queries = of_things(Colours(), NAMES, (), fitted)
    judged = torch.tensor(
        [[judge_photo(bag(photo), query, "sum_of_max").there for query in queries]
         for photo in truth.images]
    )  # fmt: skip
    assert judged[truth.shown == 1].float().mean() > 0.9
    assert judged[truth.shown == 0].float().mean() < 0.08
    assert fitted.things == set(NAMES)


def test_names_that_are_not_told_apart_are_no_things(truth, monkeypatch):
    monkeypatch.setattr(presence, "STEPS", 50)
    mixed = truth.shown[torch.randperm(600, generator=torch.Generator().manual_seed(1))]
    shown = torch.cat([truth.shown[:, :2], mixed[:, 2:]], 1)
    assert presence.fit_presence(replace(truth, shown=shown)).things == {"red", "lime"}


def test_a_limit_is_a_quantile_of_photos_without_the_thing(truth):
    logits = presence.Logits(torch.zeros(3, 3), torch.zeros(3), torch.tensor([1.0, 0.0]))
    limits = presence.fit_limits(logits, truth).of(presence.add_up(truth.texts))
    above = logits.of_all(truth) > limits
    for name in range(3):
        assert above[truth.shown[:, name] == 0, name].float().mean() == pytest.approx(
            0.05, abs=0.04
        )


def test_a_label_is_known_of_labelled_photos_and_a_noun_of_described_ones(monkeypatch):
    monkeypatch.setattr(presence_truth, "LEAST_NAMED", 2)
    monkeypatch.setattr(presence_truth, "embed_photos", lambda _, examples, __: [
        FragmentBag(torch.zeros(1, 3), (Span(0, 1),), ("",)) for _ in examples
    ])  # fmt: skip
    labelled = [Example(str(n), None, (), metadata={"labels": ["dog"] * (n < 5)}) for n in range(6)]
    told = [Example(f"d{n}", None, ("A cat.", "Cats sit.", "A dog.")[: 3 - n]) for n in range(2)]
    told += [Example("d2", None, ("Cats.", "Two cats.", "A tree."))]
    gathered = presence_truth.gather(Colours(), labelled, told, silent)
    assert gathered.names == ["dog", "cat"]
    assert gathered.shown.tolist() == [*[[1, -1]] * 5, [0, -1], [-1, 1], [-1, -1], [-1, 1]]
    with pytest.raises(ValueError, match="no label is shared by 5 photos"):
        presence_truth.gather(Colours(), labelled[:4], told, silent)


def test_a_matcher_without_a_calibration_or_of_another_score_is_refused():
    plain = Checkpoint("matchers", "colours", Colours(), "c0", {})
    with pytest.raises(ValueError, match="not calibrated: run `tessera calibrate` first"):
        presence.fit_for(plain, [], Corpus("none", {}))
    calibration = Calibration(torch.zeros(1, 3), torch.zeros(1, 3), torch.zeros(3, 4), 0.5)
    other = Colours()
    other.score = "mean"
    with pytest.raises(ValueError, match="needs the score sum_of_max"):
        presence.fit_for(
            replace(plain, model=other, calibration=calibration), [], Corpus("none", {})
        )


def bag(photo):
    return FragmentBag(photo.float(), (Span(0, 1),) * len(photo), ("",) * len(photo))
