"""Tuning by the command, on scenes and a random encoder."""

import json
import shutil

import numpy as np
import pytest
import torch

from models import checkpoint
from tests import encoders
from tests.training.commands import tessera
from training.data import readers as folders
from training.data import synthetic
from training.encoders import adopt as adopting
from training.encoders import tune as tuning
from training.evaluation.embedding import embed, embed_photos
from training.evaluation.score_matrix import score_matrix
from training.runs import progress


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    synthetic.write(folder, {"train": 8, "val": 6})
    return folder


@pytest.fixture(scope="module")
def adopted(tmp_path_factory):
    out = tmp_path_factory.mktemp("adopted") / "siglip.safetensors"
    adopting.adopt(encoders.folder("siglip"), out, adopting.Choice(), "mit", "siglip")
    return out


def test_what_is_chosen_is_written_with_its_own_fingerprint(corpus, adopted, tmp_path):
    out, numbers = tmp_path / "tuned.safetensors", tmp_path / "numbers.json"
    said = tessera("tune", adopted, "--data", corpus, "--out", out, "--json", numbers)
    assert "chosen" in said
    told = json.loads(numbers.read_text())
    recipes = {"masked", "value", "contributed", "rollout"}
    assert {way["recipe"] for way in told["ways"]} == recipes
    assert len(told["tried"]) == len(told["ways"]) * len(tuning.WEIGHTS) == 4 * 2 * 13
    before, after = checkpoint.load(adopted), checkpoint.load(out)
    options = after.model.config.image.options
    assert after.fingerprint != before.fingerprint
    chosen = told["chosen"]
    assert [options.recipe, options.against, options.regions] == [
        chosen["recipe"], chosen["against"], chosen["regions"],
    ]  # fmt: skip
    assert options.scale == after.model.config.text.options.scale == told["scale"]
    assert after.facts["tuned"]["photos"] == 6
    assert after.facts["licence"] == "mit"


def test_a_costly_recipe_is_tried_where_it_is_asked_for(corpus, adopted, tmp_path):
    out, numbers = tmp_path / "tuned.safetensors", tmp_path / "numbers.json"
    options = ("--out", out, "--json", numbers, "--recipe", "occluded")
    tessera("tune", adopted, "--data", corpus, *options)
    assert {way["recipe"] for way in json.loads(numbers.read_text())["ways"]} == {"occluded"}
    assert checkpoint.load(out).model.config.image.options.recipe == "occluded"
    said = tessera("tune", adopted, "--data", corpus, "--recipe", "tokens", code=1)
    assert "siglip has no recipe 'tokens' for boxes; use masked, value, contributed" in said


@pytest.mark.parametrize("against", ["photo", "boxes"])
def test_two_terms_give_the_matchers_scores_for_every_weight(corpus, adopted, against):
    matcher = checkpoint.load(adopted).model
    examples = folders.read(corpus, None).split("val")
    words = tuning.embed_words(matcher, examples, progress.silent)
    boxes, _ = tuning.embed_boxes(matcher, examples, progress.silent)
    apart = [tuning.compute_differences(own, against) for own in boxes]
    terms = tuning.compute_terms(boxes, apart, words, "cpu", progress.silent)
    for regions in (0.0, 0.3, 1.0):
        options = {"regions": regions, "against": against}
        other = tuning.replace_options(matcher, options, scale=1.0)
        texts = [text for example in examples for text in example.sentences]
        bags = (
            embed_photos(other, examples, progress.silent),
            embed(other.embed_sentences, texts, progress.silent, ""),
        )
        images, sentences = ([bag.vectors for bag in own] for own in bags)
        expected = score_matrix(images, sentences, "sum_of_max")
        np.testing.assert_allclose(terms.scores(regions), expected, atol=1e-5)


def test_the_likeliest_scale_is_where_the_softmax_is_right_as_often_as_it_says():
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(50, 400)).astype(np.float32)
    shares = torch.softmax(torch.from_numpy(logits * 4).T, 1)
    owners = torch.multinomial(shares, 1, generator=torch.Generator().manual_seed(0))[:, 0]
    assert tuning.likeliest_scale(logits / 10, owners.tolist()) == pytest.approx(40, rel=0.2)


def test_other_matchers_are_refused(corpus, adopted, small_matcher, tmp_path):
    said = tessera("tune", small_matcher, "--data", corpus, code=1)
    assert "dvsa is no adopted dual encoder; `tessera adopt` makes one" in said
    loaded = checkpoint.load(adopted)
    torch.nn.init.ones_(loaded.model.image.boxes.up.weight)
    out = shutil.copy(adopted, tmp_path / "trained.safetensors")
    checkpoint.save(out, "matchers", "mine", loaded.model, {})
    assert "tune first, then train" in tessera("tune", out, "--data", corpus, code=1)


def test_titles_are_learned_by_an_adopted_encoder_alone(corpus, small_matcher, tmp_path):
    where = ("--data", corpus, "--out", tmp_path, "--cache", tmp_path / "features")
    said = tessera("train", "titles", *where, "--start", small_matcher, code=1)
    assert f"{small_matcher} is no adopted dual encoder; `tessera adopt` makes one" in said
    said = tessera("train", "titles", *where, code=1)
    assert "give the checkpoint of an encoder that `tessera adopt` wrote by --start" in said
    assert not list(tmp_path.iterdir())


def test_an_adopted_encoder_trains_on_ones_own_titles(corpus, adopted, tmp_path):
    where = ("--data", corpus, "--out", tmp_path, "--cache", tmp_path / "features")
    tessera("train", "titles", *where, "--start", adopted, "--epochs", 2)
    before = checkpoint.load(adopted).model
    after = checkpoint.load(tmp_path / "titles-0" / "matcher.safetensors").model
    assert after.image_key() == before.image_key()
    assert any(weight.any() for name, weight in after.named_parameters() if "up.weight" in name)
    (bag,) = after.embed_sentences(["a red circle"])
    whole = float(after.text.log_scale.detach().exp())
    assert float(bag.vectors.sum(0).norm()) == pytest.approx(whole, rel=1e-3)
