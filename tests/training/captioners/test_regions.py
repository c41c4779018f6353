import pytest
import torch

from models import checkpoint
from models.captioners import attentive, multimodal_rnn
from models.matcher import Config, TwoTowerMatcher
from models.types import Box, PaddedBags, Span
from training.captioners.regions import (
    Regions,
    TrueRegion,
    describe_regions,
    embed_snippets,
    find_true_regions,
    group_phrases,
    measure_region_captions,
    retrieve_texts,
    see_true_regions,
)
from training.data.entities import GroundedSentence, TruePhrase
from training.runs.folder import RunPlace

LEFT, RIGHT = Box(0, 0, 0.5, 1), Box(0.5, 0, 1, 1)
VIEWS = {"views": ("lite0@64", "lite0@96"), "proposals": "windows"}


def sentence(*phrases):
    return GroundedSentence("", tuple(TruePhrase(text, Span(0, 1), own) for text, own in phrases))


def truth(examples):
    return {
        one.image.name: (
            sentence(("a red circle", (LEFT,)), ("two things", (LEFT, RIGHT))),
            sentence(("a circle", (LEFT,))),
        )
        for one in examples
    }


@pytest.fixture
def examples(few):
    return few.split("val")


@pytest.fixture
def captioner():
    torch.manual_seed(0)
    config = multimodal_rnn.Config(("a", "red", "circle"), **VIEWS, hidden=8, longest=4)
    return multimodal_rnn.Model(config).eval()


@pytest.fixture
def matcher():
    torch.manual_seed(0)
    image = {"name": "regions_in_context", "options": VIEWS | {"embedding": 8}}
    text = {"name": "brnn", "options": {"embedding": 8, "hidden": 8}}
    made = TwoTowerMatcher(Config(image, text)).eval()
    torch.nn.init.normal_(made.image.regions.project.weight, std=50.0)  # it begins at zero
    return made


def test_a_box_is_named_by_every_phrase_that_means_it():
    assert group_phrases(
        [sentence(("a dog", (LEFT,)), ("dogs", (LEFT, RIGHT))), sentence(("it", ()))]
    ) == {
        LEFT: ("a dog", "dogs"),
        RIGHT: ("dogs",),
    }


def test_photos_without_true_boxes_are_no_ground_to_measure_on(examples):
    with pytest.raises(LookupError, match="no photo has a true box"):
        find_true_regions(examples, {})


def test_true_boxes_are_seen_as_regions_are_and_kept(captioner, examples, tmp_path, monkeypatch):
    place = RunPlace(tmp_path, tmp_path)
    found = see_true_regions(captioner, examples, truth(examples), place, "float32")
    assert len(found.rows) == len(found.true) == 2 * len(examples)
    assert found.rows.shape == (2 * len(examples), 1280)
    assert [one.phrases for one in found.true[:2]] == [
        ("a red circle", "two things", "a circle"),
        ("two things",),
    ]
    monkeypatch.setattr(type(captioner.sight), "inside", None)  # nothing is computed twice
    again = see_true_regions(captioner, examples, truth(examples), place, "float32")
    assert torch.equal(again.rows, found.rows)


def test_each_box_is_described_by_its_own_features(captioner):
    true = [TrueRegion(0, box, ("a dog",)) for box in (LEFT, RIGHT)]
    regions = Regions(true, torch.rand(2, 1280), [])
    one = Regions(true[1:], regions.rows[1:], [])
    assert describe_regions(captioner, regions)[1:] == describe_regions(captioner, one)


def test_the_text_that_is_most_compatible_with_a_box_in_its_photo_is_retrieved(matcher):
    inputs = [torch.rand(21, 1280) for _ in range(2)]
    regions = Regions(
        [TrueRegion(1, LEFT, ("x",)), TrueRegion(0, LEFT, ("x",))], torch.rand(2, 1280), inputs
    )
    texts = [f"text {number}" for number in range(5)]
    sums = torch.randn(5, 8)
    expected = []
    for photo, row in zip((1, 0), regions.rows, strict=True):
        alone = torch.cat([inputs[photo][:2], row[None]])  # two views and one box
        with torch.inference_mode():
            vector = matcher.image(PaddedBags.of([alone])).vectors[0, 1]
        expected.append(texts[max(range(5), key=lambda s: float(vector @ sums[s]))])
    assert retrieve_texts(matcher, regions, sums, texts) == expected


def test_scores_are_those_of_the_phrases_of_each_box():
    true = [TrueRegion(0, LEFT, ("a red dog", "the dog")), TrueRegion(0, RIGHT, ("a cat",))]
    regions = Regions(true, torch.rand(2, 1280), [])
    right = regions.score(["A red dog", "A cat"])
    assert right.bleu[:3] == pytest.approx((100, 100, 100))
    assert right.rouge == pytest.approx(100)
    # Of four words, "a" alone is in a phrase of its box.
    assert regions.score(["A cat", "The dog"]).bleu[0] == pytest.approx(25)


@pytest.mark.parametrize("kind", ["captioners", "matchers"])
def test_captioners_describe_and_matchers_retrieve(
    kind, captioner, matcher, few, examples, tmp_path
):
    model, name = (captioner, "multimodal_rnn") if kind == "captioners" else (matcher, "tessera")
    file = tmp_path / "model.safetensors"
    checkpoint.save(file, kind, name, model, {"recipe": {"snippets": {"beta": 0.1}}})
    score, numbers = measure_region_captions(
        checkpoint.load(file), few, truth(examples), "val", RunPlace(tmp_path, tmp_path)
    )
    sources = {"captioners": "regions", "matchers": "nearest"}
    assert numbers["learned_from"] == sources[kind]
    assert numbers["regions"] == 2 * len(examples)
    assert numbers["region_bleu"] == score.bleu
    assert (numbers["rouge"], numbers["cider"]) == (score.rouge, score.cider)
    assert numbers["words"] > 0


def test_candidates_are_the_distinct_snippets_of_train(matcher, few, tmp_path):
    file = tmp_path / "matcher.safetensors"
    checkpoint.save(file, "matchers", "tessera", matcher, {})
    loaded = checkpoint.load(file)
    train = few.split("train")
    sums, texts = embed_snippets(loaded, train, [torch.rand(21, 1280) for _ in train], tmp_path)
    assert len(sums) == len(texts) == len(set(texts))
    assert all(any(text in s.lower() for one in train for s in one.sentences) for text in texts)
    (bag,) = loaded.model.embed_sentences(texts[:1])
    torch.testing.assert_close(sums[0], bag.vectors.sum(0), atol=2e-3, rtol=2e-3)


def test_a_captioner_that_looks_at_more_than_one_row_is_refused(examples, tmp_path):
    image = {"name": "regions_in_context", "options": VIEWS | {"embedding": 8}}
    model = attentive.Model(attentive.Config(("a",), image, joint=8, hidden=8))
    with pytest.raises(ValueError, match="describes whole photos by more than a region"):
        see_true_regions(model, examples, truth(examples), RunPlace(tmp_path, tmp_path), "float32")
