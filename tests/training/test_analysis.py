import json

import pytest
import torch

from models import checkpoint
from models.captioners import multimodal_rnn
from models.grounders import two_branch
from models.proposers import detector
from models.vision.images import decode
from tests.training.commands import tessera
from training.data import synthetic
from training.evaluation.captions.wordnet import FOLDER
from training.matchers import train as run
from training.runs.folder import RunPlace

SIGHT = {"views": ("lite0@64",), "proposals": "windows"}
CAPTIONER = multimodal_rnn.Config(("a", "red", "circle"), **SIGHT, embedding=8, hidden=8, longest=5)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Four photos, 24 phrases."""
    folder = tmp_path_factory.mktemp("few")
    synthetic.write(folder, {"val": 4}, seed=1)
    return folder


@pytest.fixture(scope="module")
def matcher(preset, corpus, cache, tmp_path_factory):
    return run.train(preset.with_epochs(1), corpus, RunPlace(tmp_path_factory.mktemp("run"), cache))


def test_a_matcher_is_measured_in_every_way(matcher, scenes, tmp_path):
    numbers = tmp_path / "numbers.json"
    said = tessera("evaluate", matcher, "--data", scenes, "--json", numbers)
    assert "text → text" in said
    told = json.loads(numbers.read_text())
    assert told["starred"]["search"]["mean_rank"] <= 60
    assert told["similarity"]["mean_rank"] <= 179
    assert told["grounding"]["recall_5"] == 100  # it has four cells
    assert told["faithfulness"]["pairs"] == 60
    assert told["faithfulness"]["gap"] < 1e-4


def test_a_part_of_a_split_is_named_as_one_and_regions_are_greyed_where_asked(
    matcher, scenes, tmp_path
):
    numbers = tmp_path / "numbers.json"
    tessera("evaluate", matcher, "--data", scenes, "--limit", 9, "--occlude", 3, "--json", numbers)
    described = json.loads(numbers.read_text())
    assert (described["images"], described["split"]) == (9, "val, 9 of 60 photos")
    assert described["trained_on"] == described["data"] == "scenes"
    assert described["occlusion"] is None  # its bags have no whole photo


def test_frozen_features_give_the_same_ranks_and_are_kept(matcher, scenes, tmp_path):
    told, cache = [], tmp_path / "features"
    for number, how in enumerate([(), ("--frozen", "--cache", cache)]):
        file = tmp_path / f"{number}.json"
        tessera("evaluate", matcher, "--data", scenes, *how, "--json", file)
        told.append(json.loads(file.read_text()))
    seen, frozen = told
    assert (seen["frozen"], frozen["frozen"]) == (False, True)
    assert frozen["grounding"] is frozen["faithfulness"] is None
    for way in ("annotation", "search"):
        ranks = (one["retrieval"][way]["mean_rank"] for one in told)
        assert next(ranks) == pytest.approx(next(ranks), abs=0.1)  # half precision
    (kept,) = (cache / "images").iterdir()
    before = kept.stat().st_mtime_ns
    search = ("--field", "split", "--frozen", "--cache", cache)
    assert "split" in tessera("evaluate", matcher, "--data", scenes, *search)
    assert kept.stat().st_mtime_ns == before
    refused = tessera("evaluate", matcher, "--data", scenes, "--frozen", "--occlude", 3, code=1)
    assert "no boxes to grey out" in refused
    refused = tessera("evaluate", matcher, "--data", scenes, "--beam", 3, code=1)
    assert "--beam is for captioners, this is one of the matchers: leave it out" in refused
    refused = tessera("evaluate", matcher, "--data", scenes, "--spice", code=1)
    assert "--spice is for captioners" in refused


def test_a_matcher_is_measured_as_a_search_over_photos_without_sentences(matcher, scenes, tmp_path):
    photos = sorted((scenes / "images").glob("*.jpg"))[:10]
    rows = [
        {"id": photo.stem, "image": str(photo), "colour": "Red" if number < 6 else "Blue"}
        for number, photo in enumerate(photos)
    ]
    catalogue, numbers = tmp_path / "shop" / "items.jsonl", tmp_path / "numbers.json"
    catalogue.parent.mkdir()
    catalogue.write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = tmp_path / "queries.json"
    queries.write_text(json.dumps([{"text": "a red circle", "id": photos[0].stem}]))
    asked = ("--field", "colour", "--queries", queries)
    printed = tessera("evaluate", matcher, "--data", catalogue, *asked, "--json", numbers)
    assert "1 queries over 10 photos" in printed
    described = json.loads(numbers.read_text())
    (colour,) = described["categories"]
    assert (described["data"], colour["field"], colour["photos"]) == ("shop", "colour", 10)
    assert (colour["categories"], colour["rare"]) == (1, 1)  # four blue photos are too few
    assert described["queries"]["answers"][0]["id"] == photos[0].stem


@pytest.mark.usefixtures("without_meteor")
def test_a_captioner_says_the_same_of_frozen_features_and_they_are_kept(few, tmp_path):
    torch.manual_seed(0)
    file, cache = tmp_path / "captioner.safetensors", tmp_path / "features"
    model = multimodal_rnn.Model(CAPTIONER)
    model.language.photo.weight.data *= 30  # so that photos have captions of their own
    checkpoint.save(file, "captioners", "multimodal_rnn", model, {})
    measured = []
    for number, how in enumerate([(), ("--frozen", "--cache", cache)]):
        numbers = tmp_path / f"{number}.json"
        tessera("evaluate", file, "--data", few, *how, "--json", numbers)
        measured.append(json.loads(numbers.read_text()))
    read, frozen = measured
    assert (read["frozen"], frozen["frozen"]) == (False, True)
    assert read["vocabulary"] > 1
    for metric in ("bleu", "cider", "length", "vocabulary"):
        assert frozen[metric] == pytest.approx(read[metric])
    (kept,) = (cache / "images").iterdir()
    before = kept.stat().st_mtime_ns
    tessera("evaluate", file, "--data", few, "--frozen", "--cache", cache)
    assert kept.stat().st_mtime_ns == before


def test_only_a_matcher_is_measured_as_a_search(few, tmp_path):
    file = tmp_path / "captioner.safetensors"
    checkpoint.save(file, "captioners", "multimodal_rnn", multimodal_rnn.Model(CAPTIONER), {})
    printed = tessera("evaluate", file, "--data", few, "--field", "image", code=1)
    assert "need a matcher; this is one of the captioners" in printed


@pytest.mark.skipif(not FOLDER.is_dir(), reason="WordNet is not installed: apt wordnet-base")
def test_what_captions_name_of_photos_without_sentences(few, matcher, tmp_path):
    torch.manual_seed(0)
    images = sorted((few / "images").glob("*.jpg"))
    data, numbers = tmp_path / "photos.jsonl", tmp_path / "numbers.json"
    data.write_text("".join(json.dumps({"image": str(image)}) + "\n" for image in images))
    config = multimodal_rnn.Config(("a", "man"), **SIGHT, embedding=8, hidden=8, longest=5)
    model = multimodal_rnn.Model(config)
    model.language.out.bias.data[-1] = 20.0  # for any photo
    file = tmp_path / "captioner.safetensors"
    checkpoint.save(file, "captioners", "multimodal_rnn", model, {})
    asked = ("--data", data, "--no-sentences")
    printed = tessera("evaluate", file, *asked, "--json", numbers)
    assert "captions with a person, %: 100.0" in printed
    measured = json.loads(numbers.read_text())
    assert (measured["persons"], measured["animals"], measured["sure"]) == (100, 0, None)
    assert len(measured["captions"]) == len(images)
    printed = tessera("evaluate", matcher, *asked, code=1)
    assert "--no-sentences needs a captioner; this is one of the matchers" in printed


def test_a_grounder_is_measured_by_the_boxes_of_phrases(few, tmp_path):
    torch.manual_seed(0)
    config = two_branch.Config(sizes=(64,), proposals="windows", hidden=8, embedding=4)
    file, numbers = tmp_path / "grounder.safetensors", tmp_path / "numbers.json"
    checkpoint.save(file, "grounders", "two_branch", two_branch.Model(config), {"seed": 1})
    where = ("--data", few, "--cache", tmp_path / "features")
    assert "mAP" in tessera("evaluate", file, *where, "--json", numbers)
    told = json.loads(numbers.read_text())
    assert (told["seed"], told["grounding"]["phrases"]) == (1, 24)


def test_a_proposer_is_measured_by_the_boxes_it_finds(few, tmp_path):
    torch.manual_seed(0)
    config = detector.Config(size=64, channels=8, hidden=8)
    file, numbers = tmp_path / "proposals.safetensors", tmp_path / "numbers.json"
    checkpoint.save(file, "proposers", "detector", detector.Model(config), {})
    refused = tessera("evaluate", file, "--data", few, "--frozen", code=1)
    assert "--frozen is for matchers and captioners, this is one of the proposers" in refused
    where = ("--data", few, "--cache", tmp_path / "features")
    assert "boxes found in the first 1 / 5 / 10 / 20" in tessera(
        "evaluate", file, *where, "--json", numbers
    )
    assert sorted(json.loads(numbers.read_text())["recalls"]) == ["1", "10", "20", "5"]


def test_magnitudes_of_words_and_the_regions_that_weigh_most(matcher, scenes, tmp_path):
    out, numbers = tmp_path / "sheet.png", tmp_path / "numbers.json"
    where = ("--data", scenes, "--out", out, "--json", numbers)
    assert "smallest" in tessera("magnitudes", matcher, *where, "--count", 7)
    told = json.loads(numbers.read_text())
    means = [word["mean"] for word in told["largest"]]
    assert told["words"] >= len(means) > 0
    assert told["smallest"][-1]["mean"] <= means[-1]
    assert means == sorted(means, reverse=True)
    assert len(told["regions"]) == 7
    assert decode(out.read_bytes()).pixels.shape[2] == 6 * 164 + 4


def test_regions_that_answer_a_text(matcher, scenes, tmp_path):
    out, numbers = tmp_path / "sheet.png", tmp_path / "numbers.json"
    where = ("--data", scenes, "--out", out, "--json", numbers)
    assert str(out) in tessera("regions", matcher, "red circle", *where, "--count", 3).replace(
        " ", ""
    )
    values = [region["value"] for region in json.loads(numbers.read_text())["regions"]]
    assert values == sorted(values, reverse=True)
    assert len({region["photo"] for region in json.loads(numbers.read_text())["regions"]}) == 3
    assert out.is_file()


def test_regions_want_a_matcher(few, tmp_path):
    file = tmp_path / "captioner.safetensors"
    checkpoint.save(file, "captioners", "multimodal_rnn", multimodal_rnn.Model(CAPTIONER), {})
    assert "one of the captioners" in tessera("regions", file, "dog", "--data", few, code=1)
