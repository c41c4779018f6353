import json
from dataclasses import replace

import pytest
import torch
from PIL import Image

from models import checkpoint, header
from models.scores.calibration import Calibration
from models.types import PaddedBags
from tests import encoders
from training.data.corpus import Corpus, Example
from training.data.learned import leave_out
from training.encoders import adopt as adopting
from training.encoders import reference
from training.matchers import terms
from training.matchers import train as run
from training.matchers.preset import parse
from training.matchers.probabilities.strengths import count_terms, spread
from training.runs.folder import Reporter, RunPlace
from training.runs.progress import silent

COLOURS = {"plum": (200, 30, 30), "lime": (30, 200, 30), "teal": (30, 30, 200)}
TABLES = {
    "start": {"checkpoint": "matcher"},
    "catalogue": {},
    "terms": {"least": 5, "most": 8},
    "schedule": {"epochs": 0},
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Photos of one colour each, some lighter than others."""
    folder, split = tmp_path_factory.mktemp("shop"), {"train": [], "val": []}
    for n in range(90):
        colour, light = list(COLOURS)[n % 3], n // 3
        Image.new("RGB", (16, 16), tuple(c + light for c in COLOURS[colour])).save(
            file := folder / f"{n}.png"
        )
        texts = (colour, "shirts", f"{colour} shirts") if n % 2 else (colour,)
        own = tuple(text for text in texts if " " not in text)
        example = Example(str(n), file, texts, weights=(1.0,) * len(texts), terms=own, group=str(n))
        split["train" if n < 60 else "val"].append(example)
    return Corpus("shop", {name: tuple(own) for name, own in split.items()})


@pytest.fixture
def start(preset, corpus, cache, tmp_path):
    """A matcher of scenes with a calibration."""
    file = run.train(preset.with_epochs(1), corpus, RunPlace(tmp_path / "start", cache))
    model = checkpoint.load(file).model
    references = model.embed_images([torch.randint(0, 255, (3, 16, 16)).byte() for _ in range(60)])
    wholes = torch.stack([bag.vectors[0] for bag in references])
    coefficients = torch.tensor([[0.3, 0.0, 0.0, -2.0]] * 3)
    checkpoint.calibrate(file, file, Calibration(wholes, wholes, coefficients, 0.2))
    return file


def test_a_catalogue_is_found_by_its_terms_and_the_rest_stays(start, shop, cache, tmp_path):
    learner, place = parse("shop", TABLES, start=start), RunPlace(tmp_path, cache, start=start)
    told = []
    best = run.train(learner, shop, place, reporter=Reporter(begins=told.append))
    made, before = checkpoint.load(best), checkpoint.load(start)
    facts = json.loads((best.parent / "run.json").read_text())
    assert facts["start"] == header.fingerprint(start)
    after, first = (facts["search"][when]["precision_5"] for when in ("after", "before"))
    assert after > 85 > first  # half of all are shirts, which no photo shows
    assert "mAP" in told[-1]
    learned = (("shirts", "shirt"), ("plum", "plums"), ("lime", "limes"))
    assert made.model.config.terms[:3] == learned
    (image,) = made.model.embed_images([torch.full((3, 16, 16), 30).byte()])
    (plain,) = before.model.embed_images([torch.full((3, 16, 16), 30).byte()])
    torch.testing.assert_close(image.vectors[:, : made.model.general], plain.vectors)
    (text,) = made.model.embed_sentences(["a circle"])
    assert not text.vectors[:, made.model.general :].any()
    assert made.calibration.general == made.model.general
    assert "shirts" in made.calibration.words
    everything = [*shop.split("train"), *shop.split("val")]
    assert leave_out(everything, made.facts) == list(shop.split("val"))
    assert run.train(learner, shop, place, resume=True) == best
    with pytest.raises(ValueError, match="shop-0 holds a run"):
        run.train(learner, shop, place)
    with pytest.raises(ValueError, match="has terms already"):
        run.train(replace(learner, name="again"), shop, replace(place, start=best))


def test_terms_need_a_calibrated_start_and_products_that_share_them(start, shop):
    loaded = checkpoint.load(start)
    with pytest.raises(ValueError, match="need a calibrated start"):
        terms.learn_terms(replace(loaded, calibration=None), [], (), ())
    with pytest.raises(LookupError, match="no value of a field or query is shared by 40 of the 60"):
        terms.choose_terms(shop.split("train"), terms.TermOptions(least=40))
    with pytest.raises(ValueError, match="use at least 2 and 1"):
        terms.TermOptions(least=1)


def test_terms_of_clicks_weigh_as_often_as_they_were_clicked():
    torch.manual_seed(0)
    features = torch.randn(200, 4)
    weights = torch.stack([(features[:, 0] > 0) * 1.0, (features[:, 1] > 0) * 3.0], 1)
    folds = torch.arange(200) % terms.FOLDS
    made = terms.CatalogueTerms([("a",), ("b",)], 4, 2)
    there = terms.learn_photos(made, features, weights, folds)
    assert ((there > 0.5) == (weights > 0)).float().mean() > 0.9
    heavy = weights.clone()
    heavy[features[:, 2] > 1, 0] *= 10  # what is clicked often pulls towards itself
    terms.learn_photos(
        other := terms.CatalogueTerms([("a",), ("b",)], 4, 2),
        features,
        heavy,
        torch.arange(200) % 4,
    )
    assert other.weight[0, 2] / other.weight[0, 0] > made.weight[0, 2] / made.weight[0, 0] + 0.1


def test_a_gate_tells_ones_own_photos_from_others():
    torch.manual_seed(0)
    made = terms.CatalogueTerms([("a",)], 4, 3)
    ours, others = torch.randn(100, 3) + 3, torch.randn(80, 3)
    terms.learn_gate(made, ours, others)
    assert made.membership(ours).mean() > 0.9
    assert made.membership(others).mean() < 0.1
    bag = PaddedBags.of([others[:1]])
    assert made.images(bag, torch.zeros(1, 4)).vectors[0, 0, -1] < 0.5


def test_texts_are_counted_and_spread():
    made = terms.CatalogueTerms([("shirts", "shirt"), ("red",)], 1, 1)
    assert count_terms(made, ["red shirt", "a dog"]).tolist() == [[1, 1], [0, 0]]
    assert spread(range(10), 4) == [0, 3, 6, 9]


def test_an_adopted_encoder_learns_a_catalogue_by_estimated_probabilities(shop, cache, tmp_path):
    file = tmp_path / "clip.safetensors"
    adopting.adopt(encoders.folder("clip"), file, adopting.Choice(), "mit", "clip")
    learner, place = parse("shop", TABLES, start=file), RunPlace(tmp_path, cache, start=file)
    with pytest.raises(ValueError, match="terms need a calibrated start"):
        run.train(learner, shop, place)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    reference.calibrate_once(file, None, silent)
    again = RunPlace(tmp_path / "again", cache, start=file)
    made, before = checkpoint.load(run.train(learner, shop, again)), checkpoint.load(file)
    assert made.model.config.terms[0] == ("shirts", "shirt")
    photo = torch.full((3, 16, 16), 30).byte()
    (image,), (plain,) = made.model.embed_images([photo]), before.model.embed_images([photo])
    general = made.model.general
    torch.testing.assert_close(image.vectors[:, :general], plain.vectors)
    (text,) = made.model.embed_sentences(["plum shirts"])
    assert text.vectors[:, general:].any()
