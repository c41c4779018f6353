from dataclasses import replace

import pytest
import torch

from models import checkpoint
from models.matcher import Config, TwoTowerMatcher
from models.types import FragmentBag, PaddedBags, Span
from models.vision.sight import RegionSight, ViewSight
from training.captioners import snippets
from training.captioners.snippets import (
    SnippetOptions,
    align,
    compare_sentences,
    describe_by_snippets,
    group_by_region,
)
from training.data.corpus import Example
from training.evaluation.embedding import read_pixels

TEXT = "A dog in the grass with a ball"


def bag(text, similarities):
    """A sentence with given similarities of words to two regions."""
    words, places, at = text.split(), [], 0
    for word in words:
        places.append(Span(at, at + len(word)))
        at += len(word) + 1
    rows = [similarities.get(word, (0.0, 0.0)) for word in words]
    return FragmentBag(torch.tensor(rows), tuple(places), tuple(words))


def texts(text, similarities, beta):
    return [(one.region, one.span.of(text)) for one in align(bag(text, similarities), beta)]


SIMILARITIES = {"dog": (0.2, 0.9), "grass": (0.8, 0.1), "ball": (0.3, 0.5)}


def test_each_content_word_alone_has_its_best_region_without_an_affinity():
    assert texts(TEXT, SIMILARITIES, 0) == [(1, "A dog"), (0, "the grass"), (1, "a ball")]


def test_neighbours_are_joined_where_the_affinity_is_worth_what_they_lose():
    # The ball gives 0.2 up for the grass's region, and gains β.
    assert texts(TEXT, SIMILARITIES, 0.15) == [(1, "A dog"), (0, "the grass"), (1, "a ball")]
    assert texts(TEXT, SIMILARITIES, 0.25) == [(1, "A dog"), (0, "the grass with a ball")]
    assert texts(TEXT, SIMILARITIES, 9) == [(1, TEXT)]


def test_words_that_tie_a_segment_to_others_are_left_out():
    apart = {"dog": (0.0, 1.0), "running": (1.0, 0.0)}
    assert texts("Of the dog that is running to", apart, 0) == [(1, "the dog"), (0, "running")]
    assert texts("All of the dogs", {"dogs": (1.0, 0.0)}, 0) == [(0, "the dogs")]
    assert texts("Within", {}, 0) == []


def test_snippets_of_a_region_are_those_of_all_sentences_but_for_long_ones():
    example = Example("1", None, (TEXT, "The brown dog", "Grass"))
    bags = [
        bag(TEXT, SIMILARITIES),
        bag("The brown dog", {"brown": (0.0, 1.0), "dog": (0.0, 1.0)}),
        bag("Grass", {"Grass": (1.0, 0.0)}),
    ]
    found = group_by_region(example, bags, SnippetOptions(beta=0, most=2))
    assert found == {1: ("A dog", "a ball"), 0: ("the grass", "Grass")}
    assert group_by_region(example, bags, SnippetOptions(beta=0))[1] == (
        "A dog",
        "a ball",
        "The brown dog",
    )


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A small shipped matcher, and a photo's inputs."""
    torch.manual_seed(0)
    image = {
        "name": "regions_in_context",
        "options": {"views": ("lite0@64", "lite0@96"), "embedding": 8},
    }
    text = {"name": "brnn", "options": {"embedding": 8, "hidden": 8}}
    monkeypatch.setattr(snippets, "PRETRAINED", tmp_path)
    matcher = TwoTowerMatcher(Config(image, text))
    checkpoint.save(tmp_path / "small.safetensors", "matchers", "small", matcher, {})
    return checkpoint.load(tmp_path / "small.safetensors")


@pytest.fixture
def examples(few):
    return few.split("val")


def seen(matcher, examples):
    torch.manual_seed(1)
    rows = len(matcher.image.config.views) + 19
    return [torch.rand(rows, 1280) for _ in examples]


def test_similarities_are_those_of_the_matchers_own_bags_and_are_kept(
    shipped, examples, tmp_path, monkeypatch
):
    inputs = seen(shipped.model, examples)
    first = compare_sentences(shipped, examples, inputs, tmp_path)
    sentences = [bag for own in first for bag in own]
    again = shipped.model.embed_sentences([t for one in examples for t in one.sentences])
    photos = [shipped.model.image_bags(PaddedBags.of([one])).vectors[0].detach() for one in inputs]
    owners = [k for k, one in enumerate(examples) for _ in one.sentences]
    for own, bag, photo in zip(sentences, again, owners, strict=True):
        assert (own.places, own.labels) == (bag.places, bag.labels)
        torch.testing.assert_close(own.vectors, bag.vectors @ photos[photo].T, atol=2e-3, rtol=2e-3)
    monkeypatch.setattr(TwoTowerMatcher, "embed_sentences", None)  # nothing is computed twice
    kept = compare_sentences(shipped, examples, inputs, tmp_path)
    assert torch.equal(kept[0][0].vectors, first[0][0].vectors)


def test_regions_have_their_rows_and_all_the_snippets_of_a_photo(shipped, examples, tmp_path):
    inputs = seen(shipped.model, examples)
    options = SnippetOptions(matcher="small", beta=0.0)
    rows, described = describe_by_snippets(
        shipped.model.image.sight, examples, inputs, options, tmp_path
    )
    assert {row.shape for row in rows} == {(1, 1280)}
    bags = compare_sentences(shipped, examples, inputs, tmp_path)
    expected = [
        (features[1 + region], own)
        for example, features, sentences in zip(examples, inputs, bags, strict=True)
        for region, own in group_by_region(example, sentences, options).items()
    ]
    for row, one, (features, own) in zip(rows, described, expected, strict=True):
        assert torch.equal(row[0], features)
        assert one.sentences == own


def test_a_captioner_may_see_whole_photos_otherwise_than_the_matcher(shipped, examples, tmp_path):
    options = SnippetOptions(matcher="small", beta=0.0)
    own = shipped.model.image.sight
    sight = ViewSight(("lite0@64", "lite2@64", own.names[-1]), "windows")
    with torch.inference_mode():
        photos = [read_pixels(one.image) for one in examples]
        inputs, by_matcher = sight(photos)[0], own(photos)[0]
    rows, described = describe_by_snippets(sight, examples, inputs, options, tmp_path / "a")
    expected, same = describe_by_snippets(own, examples, by_matcher, options, tmp_path / "b")
    assert [(one.id, one.sentences) for one in described] == [
        (one.id, one.sentences) for one in same
    ]
    for row, other in zip(rows, expected, strict=True):
        torch.testing.assert_close(row, other, rtol=1e-3, atol=1e-3)


def test_a_captioner_that_sees_other_regions_than_the_matcher_is_refused(
    shipped, examples, tmp_path
):
    options = SnippetOptions(matcher="small")
    for sight in (
        ViewSight(("lite0@64",), "windows"),
        RegionSight("lite0", (96,), "windows", False),
    ):
        with pytest.raises(
            ValueError, match=r"give \[model\] its last view, with the same weights"
        ):
            describe_by_snippets(sight, examples, [], options, tmp_path)


def test_options_out_of_range_and_unknown_matchers_are_refused(examples, tmp_path):
    with pytest.raises(ValueError, match="beta is -1"):
        SnippetOptions(beta=-1)
    with pytest.raises(ValueError, match="most 0"):
        replace(SnippetOptions(), most=0)
    with pytest.raises(LookupError, match="nothing"):
        describe_by_snippets(None, examples, [], SnippetOptions(matcher="nothing"), tmp_path)
