from dataclasses import replace

import pytest
import torch
from typer.testing import CliRunner

from models import checkpoint
from models.checkpoint import Checkpoint
from models.matcher import Config, TwoTowerMatcher
from models.text import classes
from training.cli import app
from training.evaluation.measure import measure
from training.evaluation.score_matrix import score_matrix
from training.matchers import train as run
from training.matchers.average import (
    MAPS,
    VectorSizes,
    average,
    gather_facts,
    reduce_vectors,
    refuse_other_kinds,
    refuse_other_starts,
    require_alike,
    require_common_start,
    set_references,
)
from training.matchers.matching import Pairs, choose_reference_sentences, encode_all, refer
from training.runs.folder import RunPlace

CONFIG = {
    "image": {"name": "cells", "options": {"dimension": 8}},
    "text": {"name": "minilm", "options": {"embedding": 8, "frozen_layers": 5, "names": True}},
}


def moved(seed):
    """A matcher with all weights moved from their start."""
    torch.manual_seed(seed)
    matcher = TwoTowerMatcher(Config(**CONFIG))
    for weight in matcher.parameters():
        if weight.requires_grad:
            torch.nn.init.normal_(weight)
    return matcher


def test_weights_that_begin_at_random_are_the_mean():
    one, other = moved(0), moved(1)
    mean = average([one, other], start=0.3)
    expected = (one.image.regions[0].weight + other.image.regions[0].weight) / 2
    torch.testing.assert_close(mean.image.regions[0].weight, expected)


def test_known_weights_are_drawn_back_towards_their_start():
    one, other = moved(0), moved(1)
    mean = average([one, other], start=0.25)
    start = classes.directions(8).T
    expected = 0.75 * (one.text.project.weight + other.text.project.weight) / 2 + 0.25 * start
    torch.testing.assert_close(mean.text.project.weight, expected)
    pretrained = TwoTowerMatcher(Config(**CONFIG)).text.upper.state_dict()
    for name, weight in average([one], start=1).text.upper.state_dict().items():
        torch.testing.assert_close(weight, pretrained[name])


def test_the_average_of_one_matcher_is_that_matcher():
    one = moved(0)
    expected = one.state_dict()
    for name, weight in average([one], start=0).state_dict().items():
        assert torch.equal(weight, expected[name]), name


def test_matchers_of_different_options_are_refused():
    text = CONFIG["text"]
    other = Config(**CONFIG | {"text": text | {"options": text["options"] | {"rarity": 0.1}}})
    loaded = [
        Checkpoint("matchers", "x", TwoTowerMatcher(config), "f", facts)
        for config, facts in ((moved(0).config, {"preset": {}}), (other, {}))
    ]
    with pytest.raises(ValueError, match="average runs of one preset and data"):
        require_alike(loaded)
    assert require_alike(loaded[:1]) == [loaded[0].model]
    with pytest.raises(ValueError, match="was not trained: average runs of `tessera train`"):
        require_alike(loaded[1:])


def test_checkpoints_of_other_models_are_refused_by_their_kind():
    loaded = [
        Checkpoint(kind, "x", None, "f", {}) for kind in ("matchers", "captioners", "captioners")
    ]
    refuse_other_kinds(loaded[:1])
    for runs in (loaded, loaded[1:]):
        with pytest.raises(ValueError, match="x f is one of the captioners: give matchers alone"):
            refuse_other_kinds(runs)


@pytest.mark.parametrize(
    "facts",
    [
        {"start": "f"},
        {"start": None, "shape": {"embedding": 4}},
        {"start": 0.0, "began_with": ["f"]},
    ],
)
def test_what_did_not_begin_with_the_pretrained_weights_is_not_drawn_back_to_them(facts):
    referring_alone = {"start": None, "shape": {"reference_sentences": 4}}
    for allowed in ({"start": None}, referring_alone):
        refuse_other_starts([Checkpoint("matchers", "x", None, "f", allowed)])
    with pytest.raises(ValueError, match="leave --start out"):
        refuse_other_starts([Checkpoint("matchers", "x", None, "f", facts)])


def started(start, towers=CONFIG):
    return Checkpoint("matchers", "x", TwoTowerMatcher(Config(**towers)), "f", {"seed": 0} | start)


def test_trainings_that_began_at_other_weights_are_not_averaged():
    random = CONFIG | {"text": {"name": "pairs", "options": {"embedding": 8}}}
    alone = {"start": None}
    require_common_start([started(alone), started(alone)])  # MiniLM's layers keep them alike
    require_common_start([started(alone, random)])
    require_common_start([started({"start": "f"}, random), started({"start": "f"}, random)])
    with pytest.raises(ValueError, match="train all with the same --start"):
        require_common_start([started(alone, random), started(alone, random)])
    with pytest.raises(ValueError, match=r"different checkpoints \(f, g\)"):
        require_common_start([started({"start": "f"}), started({"start": "g"})])
    with pytest.raises(ValueError, match=r"different checkpoints \(f, none\)"):
        require_common_start([started({"start": 0.0, "began_with": ["f"]}), started(alone)])


def test_an_average_names_the_seeds_of_its_parts():
    facts = {"preset": {}, "data": {}, "versions": {}, "epoch": 3}
    loaded = [
        Checkpoint("matchers", "x", None, f"f{seed}", facts | {"seed": seed}) for seed in (0, 1)
    ]
    told = gather_facts(loaded, 0.3)
    assert (told["seed"], told["averaged"], told["start"]) == ("0 + 1", ["f0", "f1"], 0.3)
    assert not {"epoch", "began_with"} & told.keys()
    tuned = [Checkpoint("matchers", "x", None, "f", facts | {"seed": 0, "start": "s"})]
    assert gather_facts(tuned, 0.0)["began_with"] == ["s"]


def test_the_command_writes_a_checkpoint_that_is_evaluated(preset, corpus, scenes, cache, tmp_path):
    start = run.train(preset.with_epochs(1), corpus, RunPlace(tmp_path / "start", cache))
    files = [
        run.train(preset.with_epochs(2), corpus, RunPlace(tmp_path, cache, seed=seed, start=start))
        for seed in (0, 1)
    ]
    out = tmp_path / "mean.safetensors"
    told = ["average", *files, "--data", scenes, "--cache", cache, "--out", out]
    result = CliRunner().invoke(app, [str(argument) for argument in told])
    assert result.exit_code == 0, result.output
    loaded = checkpoint.load(out)
    found = measure(loaded.model, corpus.split("val"), {}).retrieval
    kept = loaded.facts["validation"]
    assert kept["search"]["recall_1"] == pytest.approx(found.search.recall_1, abs=2)
    assert float(result.output.split()[-1]) == pytest.approx(found.recall_sum, abs=4)


def contextual(**options):
    """A matcher with moved weights, and named classes."""
    torch.manual_seed(0)
    image = {"views": ("lite0@32", "lite0@64"), "classifiers": ("lite0@64",), "embedding": 8}
    text = {"embedding": 8, "frozen_layers": 5}
    matcher = TwoTowerMatcher(
        Config(
            {"name": "regions_in_context", "options": image | options},
            {"name": "minilm", "options": text | options},
            references=4,
        )
    )
    matcher.begin()
    for weight in matcher.parameters():
        if weight.requires_grad and weight.ndim == 2:
            torch.nn.init.normal_(weight, std=0.1)
    return matcher.eval()


@pytest.fixture(scope="module")
def few_pairs():
    """Frozen inputs of photos and sentences, the first with two."""
    torch.manual_seed(1)
    sentences = ["a dog", "a dog runs", "two cats sleep", "a red car"]
    matcher = contextual()
    photos = [torch.rand(21, 1280) for _ in range(3)]
    return Pairs(photos, matcher.sentence_inputs(sentences), (2, 1, 1))


def score(matcher, pairs):
    """The scores (K, L) of pairs."""
    with torch.no_grad():
        images = encode_all(matcher.encode_images, pairs.images, "cpu")
        texts = encode_all(matcher.encode_sentences, pairs.sentences, "cpu")
    return torch.from_numpy(score_matrix(images, texts, matcher.score, "cpu"))


def test_a_matcher_turned_in_its_space_scores_as_it_did(few_pairs):
    matcher = contextual()
    turned = reduce_vectors(matcher, VectorSizes(8), few_pairs)
    expected = score(matcher, few_pairs)
    torch.testing.assert_close(score(turned, few_pairs), expected, rtol=1e-3, atol=1e-3)


def test_fewer_numbers_keep_the_directions_that_are_filled(few_pairs):
    matcher = contextual()
    with torch.no_grad():  # nothing is in the last two dimensions
        for name, weight in matcher.named_parameters():
            if name in MAPS:
                weight[6:] = 0
    smaller = reduce_vectors(matcher, VectorSizes(6), few_pairs)
    assert smaller.dimension == matcher.dimension - 2
    expected = score(matcher, few_pairs)
    torch.testing.assert_close(score(smaller, few_pairs), expected, rtol=1e-3, atol=1e-3)


def test_names_are_added_to_what_was_trained(few_pairs):
    matcher = contextual()
    named = reduce_vectors(matcher, VectorSizes(8, 16), few_pairs)
    images = encode_all(named.encode_images, few_pairs.images, "cpu")
    texts = encode_all(named.encode_sentences, few_pairs.sentences, "cpu")
    names = slice(8, 24)
    given = torch.stack(
        [
            torch.stack([image[0, names] @ text[:, names].sum(0) for text in texts])
            for image in images
        ]
    )
    expected = score(matcher, few_pairs) + given.detach()
    assert float(given.detach().abs().max()) > 0.1
    torch.testing.assert_close(score(named, few_pairs), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("embedding", [0, 9])
def test_a_shape_has_some_numbers_and_no_more_than_were_trained(few_pairs, embedding):
    with pytest.raises(ValueError, match="give 1 to 8"):
        reduce_vectors(contextual(), VectorSizes(embedding), few_pairs)


def test_other_towers_keep_their_shape(few_pairs):
    with pytest.raises(ValueError, match="regions_in_context and minilm can"):
        reduce_vectors(moved(0), VectorSizes(4), few_pairs)


def test_names_stay_where_only_the_joint_space_is_reduced(few_pairs):
    named = reduce_vectors(contextual(), VectorSizes(8, 16), few_pairs)
    smaller = reduce_vectors(named, VectorSizes(6), few_pairs)
    assert smaller.dimension == named.dimension - 2
    for text in ("a dog", "a red car"):
        one, other = (matcher.embed_sentences([text])[0].vectors for matcher in (named, smaller))
        torch.testing.assert_close(one[:, 8:24], other[:, 6:22])
    assert reduce_vectors(named, VectorSizes(8, 4), few_pairs).dimension == named.dimension - 12


def test_a_photo_that_is_compared_with_sentences_scores_otherwise_with_all_texts_alike(few_pairs):
    matcher = contextual()
    refer(matcher, few_pairs)
    compared = set_references(matcher, reference_sentences=6)
    refer(compared, few_pairs)
    assert compared.dimension == matcher.dimension + 1
    gained = score(compared, few_pairs) - score(matcher, few_pairs)  # (K, L)
    torch.testing.assert_close(gained, gained[:, :1].expand_as(gained), rtol=1e-3, atol=1e-3)
    assert gained[:, 0].std().item() > 0.05
    again = set_references(compared, reference_sentences=0)
    refer(again, few_pairs)
    torch.testing.assert_close(score(again, few_pairs), score(matcher, few_pairs))


def test_photos_cannot_be_compared_with_sentences_where_sentences_have_no_offsets(few_pairs):
    matcher = contextual()
    with pytest.raises(ValueError, match="references 0: give both"):
        replace(matcher.config, references=0, reference_sentences=4)


def test_references_are_of_photos_with_labels_and_without(few_pairs):
    assert sum(few_pairs.counts) == len(few_pairs.sentences)
    labelled = tuple(place < 2 for place in range(len(few_pairs.counts)))
    pairs = replace(few_pairs, labelled=labelled)
    of_labelled = {id(pairs.sentences[k]) for k, owner in enumerate(pairs.owners) if owner < 2}
    chosen, naming = choose_reference_sentences(pairs, 8)
    assert (len(chosen), naming) == (6, 2)
    assert [id(sentence) in of_labelled for sentence in chosen] == [False] * 2 + [True] * 4
    for alike in (few_pairs, replace(few_pairs, labelled=(True,) * len(labelled))):
        chosen, naming = choose_reference_sentences(alike, 8)
        assert (len(chosen), naming) == (4, 4)


def test_the_weight_of_an_offset_is_the_matchers_own(few_pairs):
    matcher = contextual()
    refer(matcher, few_pairs)
    heavier = set_references(matcher, offset_weights=(1.4, 0.4))
    refer(heavier, few_pairs)
    without = set_references(matcher, offset_weights=(0.0, 0.4))
    refer(without, few_pairs)
    plain = score(without, few_pairs)
    expected = 2 * (score(matcher, few_pairs) - plain)
    torch.testing.assert_close(score(heavier, few_pairs) - plain, expected, rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="give two numbers from 0"):
        replace(matcher.config, offset_weights=(0.7, -1.0))


def test_a_matcher_that_was_drawn_back_or_reduced_stays_known_as_such():
    facts = {"preset": {}, "data": {}, "versions": {}, "seed": 0, "start": 0.3}
    facts |= {"shape": {"conse": 93, "references": 4}}
    run = Checkpoint("matchers", "x", None, "f", facts)
    gathered = gather_facts([run], 0.0, VectorSizes(references=8))
    assert (gathered["start"], gathered["shape"]) == (0.3, {"conse": 93, "references": 8})
    with pytest.raises(ValueError, match="leave --start out"):
        refuse_other_starts([run])
