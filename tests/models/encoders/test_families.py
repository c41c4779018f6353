"""Every family has transformers' scores from the same files."""

import importlib

import pytest
import torch

from benchmarks.models import tiny_encoders
from benchmarks.models.tiny_encoders import FAMILIES
from models.encoders.halves import ADDED
from models.encoders.photos import patch_weights
from models.matcher import Config, TowerOptions, TwoTowerMatcher
from models.scores.scoring import SCORES
from models.types import WHOLE_FRAME, WHOLE_SENTENCE, PaddedBags
from tests import encoders
from training.encoders.adopt import RECIPE

TEXTS = list(encoders.TEXTS)


@pytest.fixture(scope="module", params=FAMILIES)
def family(request):
    return request.param


def matcher(family, **image):
    precision = image.get("precision", "float32")
    options = encoders.options(family) | {"scale": 1.0, "precision": precision}
    image = {"recipe": "masked", "against": "photo"} | image
    return TwoTowerMatcher(
        Config(
            TowerOptions.of("image_towers", "pretrained", options | image),
            TowerOptions.of("text_towers", "pretrained", options),
        )
    ).eval()


@pytest.fixture(scope="module")
def plain(family):
    return matcher(family, regions=0.0)


@pytest.fixture(scope="module")
def official(family, photos):
    """transformers' outputs for oblong photos, and for texts."""
    import transformers

    folder = encoders.folder(family)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    pixels = transformers.AutoImageProcessor.from_pretrained(folder)(photos, return_tensors="pt")
    padding = "longest" if family == "clip" else "max_length"
    read = transformers.AutoTokenizer.from_pretrained(folder)(
        TEXTS, padding=padding, max_length=16, truncation=True, return_tensors="pt"
    )
    with torch.inference_mode():
        return model(**pixels, **read), pixels["pixel_values"]


def scores(images, sentences):
    bags = (PaddedBags.of([bag.vectors for bag in own]) for own in (images, sentences))
    return SCORES["sum_of_max"](*bags)


def test_without_regions_the_score_is_the_official_cosine(plain, official, photos):
    output, _ = official
    ours = scores(plain.embed_images(photos), plain.embed_sentences(TEXTS))
    torch.testing.assert_close(ours, output.image_embeds @ output.text_embeds.T, rtol=0, atol=1e-5)


@pytest.mark.parametrize("recipe", ADDED)
def test_what_boxes_add_leaves_the_photo_as_it_is(family, recipe, official, photos):
    output, _ = official
    bags = matcher(family, regions=0.0, recipe=recipe).embed_images(photos)
    for bag, vector in zip(bags, output.image_embeds, strict=True):
        torch.testing.assert_close(bag.vectors, vector.expand(20, -1), rtol=0, atol=1e-5)
    adding = matcher(family, regions=1.0, recipe=recipe, against="photo").embed_images(photos)
    for bag, vector in zip(adding, output.image_embeds, strict=True):
        torch.testing.assert_close(bag.vectors[0], vector, rtol=0, atol=1e-5)
        assert (bag.vectors[1:] - vector).norm(dim=1).min() > 1e-3


def test_half_precision_stays_close_to_the_official_cosine(family, official, photos):
    half = matcher(family, regions=0.0, precision="bfloat16")
    ours = scores(half.embed_images(photos), half.embed_sentences(TEXTS))
    cosines = official[0].image_embeds @ official[0].text_embeds.T
    torch.testing.assert_close(ours, cosines, rtol=0, atol=0.03)


@pytest.mark.parametrize("recipe", ["value", "rollout"])
def test_boxes_in_half_precision_stay_close_to_those_in_single(family, recipe, photos):
    bags = [
        matcher(family, regions=1.0, recipe=recipe, precision=precision).embed_images(photos)
        for precision in ("float32", "bfloat16")
    ]
    for single, half in zip(*bags, strict=True):
        assert torch.cosine_similarity(single.vectors, half.vectors).min() > 0.99


def test_the_encoders_own_scale_makes_official_logits(family, official, photos):
    module = importlib.import_module(f"models.encoders.{family}")
    scale = module.scale(encoders.folder(family))
    cosines = official[0].image_embeds @ official[0].text_embeds.T
    logits = official[0].logits_per_image
    # SigLIP adds a constant: it is no part of a difference.
    expected = logits - logits[0, 0]
    torch.testing.assert_close(
        scale * (cosines - cosines[0, 0]), expected, rtol=1e-4, atol=1e-4 * scale
    )


def test_photos_are_prepared_to_the_bit(plain, official, photos):
    assert torch.equal(plain.image.sight.vision.preparation(photos), official[1])


def test_each_word_is_a_fragment_in_its_place_and_all_add_up_to_the_text(plain, official):
    output, _ = official
    for text, bag, vector in zip(
        TEXTS, plain.embed_sentences(TEXTS), output.text_embeds, strict=True
    ):
        words = [
            (label, span.of(text))
            for label, span in zip(bag.labels, bag.places, strict=True)
            if label != WHOLE_SENTENCE
        ]
        assert all(label == of_text for label, of_text in words)
        assert "".join(label for label, _ in words) in text.translate(
            {ord(mark): None for mark in " .,:()"}
        )
        torch.testing.assert_close(bag.vectors.sum(0), vector, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "text", ["红色的汽车停在路边", "赤い車が走る", "ein roter Bus", "حافلة حمراء"]
)
def test_words_of_other_languages_add_up_to_the_text_too(plain, text):
    (bag,) = plain.embed_sentences([text])
    words = [label for label in bag.labels if label != WHOLE_SENTENCE]
    assert len(words) > 1
    assert "".join(words) == text.replace(" ", "")
    torch.testing.assert_close(bag.vectors.sum(0).norm(), torch.tensor(1.0), rtol=0, atol=1e-5)


def test_only_a_mean_of_tokens_leaves_no_rest(family, plain):
    rests = [WHOLE_SENTENCE in bag.labels for bag in plain.embed_sentences(TEXTS)]
    assert set(rests) == {family != "tipsv2"}


def test_case_does_not_matter(plain):
    lower, upper = plain.embed_sentences(["a dog runs", "A Dog RUNS"])
    torch.testing.assert_close(lower.vectors, upper.vectors)


def test_blanks_in_a_text_do_not_matter(plain):
    near, far = plain.embed_sentences(["a dog runs", "  a    dog   runs "])
    torch.testing.assert_close(near.vectors, far.vectors)
    assert [span.of("  a    dog   runs ") for span in far.places][:3] == ["a", "dog", "runs"]


def test_links_add_up_and_mix_the_cosine_with_the_late_interaction(family, photos):
    cosines, late = (
        scores(model.embed_images(photos), model.embed_sentences(TEXTS))
        for model in (matcher(family, regions=0.0), matcher(family, regions=1.0))
    )
    images = matcher(family, regions=0.4).embed_images(photos)
    sentences = matcher(family).embed_sentences(TEXTS)
    mixed = scores(images, sentences)
    # With λ = 1 the whole photo is the first fragment still, so words may link to it.
    for k, image in enumerate(images):
        for l, sentence in enumerate(sentences):  # noqa: E741 - the papers' letter
            given = SCORES["sum_of_max"].links(image, sentence)
            assert sum(link.similarity for link in given) == pytest.approx(
                float(mixed[k, l]), abs=1e-5
            )
    assert torch.all(late >= cosines - 1e-5)
    torch.testing.assert_close(mixed, 0.6 * cosines + 0.4 * late, rtol=0, atol=1e-5)


@pytest.mark.parametrize("recipe", ["masked", "value"])
def test_a_box_is_what_its_patches_show_and_nothing_else(family, recipe, tmp_path, photos):
    """For blocks before the pooling one without mixed patches."""
    size = tiny_encoders.Size(layers=0 if family == "siglip" else 1)
    tiny_encoders.make_untrained(family, tmp_path, TEXTS, size)
    module = importlib.import_module(f"models.encoders.{family}")
    vision = module.Photos(tmp_path, "float32")
    pixels = vision.preparation(photos[1:2])
    changed = pixels.clone()
    changed[..., 36:, 36:] = 0  # the last patch of 4 × 4
    corners = torch.tensor([[0.5, 0.5, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5]])
    weights = patch_weights(corners, WHOLE_FRAME, 4, 4)[None]
    with torch.inference_mode():
        before, after = (vision(given, weights, recipe)[1][0] for given in (pixels, changed))
    with_it, without_it = (before - after).abs().amax(-1)
    assert with_it > 1e-3
    assert without_it < 1e-6


def test_boxes_of_the_same_size_give_together_what_one_around_them_gives(plain, photos):
    vision = plain.image.sight.vision
    pixels = vision.preparation(photos[:1])
    corners = torch.tensor([[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
    weights = patch_weights(corners, WHOLE_FRAME, vision.rows, vision.columns)[None]
    with torch.inference_mode():
        photo, (boxes,) = vision(pixels, weights, "contributed")
    left, right, both = boxes - photo
    torch.testing.assert_close(left + right, 2 * both, rtol=0, atol=1e-4)
    assert (left - right).norm() > 1e-2


@pytest.mark.parametrize("recipe", ["contributed", "rollout"])
def test_what_a_patch_gave_changes_most_with_that_patch(family, recipe, tmp_path, photos):
    """In an encoder of one pooling block; all attention shifts."""
    size = tiny_encoders.Size(layers=0 if family == "siglip" else 1)
    tiny_encoders.make_untrained(family, tmp_path, TEXTS, size)
    vision = importlib.import_module(f"models.encoders.{family}").Photos(tmp_path, "float32")
    pixels = vision.preparation(photos[1:2])
    changed = pixels.clone()
    changed[..., 36:, 36:] = 0  # the last patch of 4 × 4
    patches = torch.eye(16)[None]  # a box a patch
    with torch.inference_mode():
        before, after = (
            boxes[0] - photo
            for photo, boxes in (vision(seen, patches, recipe) for seen in (pixels, changed))
        )
    moved = (after - before).norm(dim=1)  # (16,)
    assert moved.argmax() == 15
    assert moved[15] > 1.5 * moved[:15].max()


def test_the_whole_frame_as_a_box_is_the_photo_without_its_class_token(plain, photos):
    vision = plain.image.sight.vision
    everything = torch.ones(1, 1, vision.rows * vision.columns)
    with torch.inference_mode():
        photo, (box,) = vision(vision.preparation(photos[:1]), everything, "masked")
    assert box.shape == photo.shape
    if not hasattr(vision, "before"):  # SigLIP pools patches alone
        torch.testing.assert_close(box, photo, rtol=1e-5, atol=1e-5)


def test_a_box_that_a_crop_leaves_out_adds_nothing(photos):
    wide = torch.cat([photos[0]] * 8, dim=2)  # (3, 50, 640), of which the middle is seen
    (bag,) = matcher("clip").embed_images([wide])
    apart = (bag.vectors - bag.vectors[0]).norm(dim=1)  # (R,)
    unseen = [place.right <= 0.46 or place.left >= 0.54 for place in bag.places]
    assert any(unseen)
    assert [float(distance) == 0 for distance in apart[1:]] == unseen[1:]


@pytest.mark.parametrize("recipe", ADDED)
@pytest.mark.parametrize("others", [0, 1])
def test_boxes_that_a_crop_leaves_out_do_not_change_what_others_add(photos, recipe, others):
    wide = torch.cat([photos[0]] * 8, dim=2)
    sight = matcher("clip", recipe=recipe).image.sight
    with torch.inference_mode():
        (vectors, *_), (boxes, *_) = sight([wide, *photos[:others]])
        weights = sight.weights(wide, boxes)
        seen = weights.sum(-1) > 0
        pixels = sight.vision.preparation([wide])
        photo, (alone,) = sight.vision(pixels, weights[seen][None], recipe)
    assert 0 < seen.sum() < 19
    torch.testing.assert_close(vectors[1:][seen], alone / photo.norm(), rtol=1e-4, atol=1e-5)
    assert torch.equal(vectors[1:][~seen], vectors[:1].expand(int((~seen).sum()), -1))


def test_a_recipe_that_a_family_lacks_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="siglip has no recipe 'tokens' for boxes; use masked"):
        matcher("siglip", recipe="tokens")
    with pytest.raises(ValueError, match="no recipe 'glance' for boxes; use masked, value, tok"):
        matcher("clip", recipe="glance")


def test_an_encoder_whose_mlps_cannot_be_held_has_the_usual_recipe(tmp_path, photos):
    """TIPSv2 with products in its MLPs, as its largest has."""
    import transformers

    model, tokenizer, processor = tiny_encoders.tipsv2(TEXTS, tiny_encoders.UNTRAINED)
    model.config.vision_config.use_swiglu_ffn = True
    tiny_encoders.save(transformers.Tipsv2Model(model.config), tokenizer, processor, tmp_path)
    vision = importlib.import_module("models.encoders.tipsv2").Photos(tmp_path, "float32")
    assert "contributed" not in vision.recipes
    pixels, weights = vision.preparation(photos[:1]), torch.eye(16)[None]
    with torch.inference_mode():
        photo, boxes = vision(pixels, weights, RECIPE)
        torch.testing.assert_close(photo, vision.see(pixels))
    assert (boxes - photo[:, None]).norm(dim=-1).min() > 1e-3
