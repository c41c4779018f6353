"""SigLIP 2 NaFlex equals transformers', on photos of many shapes."""

import pytest
import torch
import transformers

from models.encoders.siglip2_naflex import Patches
from models.matcher import Config, TowerOptions, TwoTowerMatcher
from models.scores.scoring import SCORES
from models.types import PaddedBags
from tests import encoders

TEXTS = list(encoders.TEXTS)
RECIPES = ("masked", "value", "contributed", "rollout", "occluded")


def matcher(**image):
    options = encoders.options("siglip2") | {"scale": 1.0}
    precision = {"precision": image.get("precision", "float32")}
    return TwoTowerMatcher(
        Config(
            TowerOptions.of("image_towers", "pretrained", options | image),
            TowerOptions.of("text_towers", "pretrained", options | precision),
        )
    ).eval()


@pytest.fixture(scope="module")
def shapes():
    """Photos of wide, tall, narrow and square shapes."""
    generator = torch.Generator().manual_seed(3)
    sizes = [(50, 80), (90, 30), (16, 200), (64, 64)]
    return [
        torch.randint(0, 256, (3, *size), dtype=torch.uint8, generator=generator) for size in sizes
    ]


@pytest.fixture(scope="module")
def official(shapes):
    folder = encoders.folder("siglip2")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    pixels = transformers.AutoImageProcessor.from_pretrained(folder)(shapes, return_tensors="pt")
    read = transformers.AutoTokenizer.from_pretrained(folder)(
        TEXTS, padding="max_length", max_length=16, truncation=True, return_tensors="pt"
    )
    with torch.inference_mode():
        return model(**pixels, **read), pixels


def scores(model, photos):
    bags = (model.embed_images(photos), model.embed_sentences(TEXTS))
    return SCORES["sum_of_max"](*(PaddedBags.of([bag.vectors for bag in own]) for own in bags))


def test_photos_are_prepared_to_the_bit_with_their_shapes(official, shapes):
    vision = matcher().image.sight.vision
    made = vision.preparation(shapes)
    assert torch.equal(made.values, official[1]["pixel_values"])
    assert torch.equal(made.shapes, official[1]["spatial_shapes"])
    assert torch.equal(made.real, official[1]["pixel_attention_mask"].bool())
    grids = [vision.grid(*photo.shape[1:]) for photo in shapes]
    assert grids == [tuple(shape) for shape in made.shapes.tolist()]
    assert len(set(grids)) == 4
    assert not made.real.all()


@pytest.mark.parametrize("recipe", RECIPES)
def test_without_regions_the_score_is_the_official_cosine(official, shapes, recipe):
    cosines = official[0].image_embeds @ official[0].text_embeds.T
    ours = scores(matcher(regions=0.0, recipe=recipe), shapes)
    torch.testing.assert_close(ours, cosines, rtol=0, atol=1e-5)


def test_half_precision_stays_close_to_the_official_cosine(official, shapes):
    cosines = official[0].image_embeds @ official[0].text_embeds.T
    ours = scores(matcher(regions=0.0, precision="bfloat16"), shapes)
    torch.testing.assert_close(ours, cosines, rtol=0, atol=0.03)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_photo_is_the_same_alone_and_among_others(shapes, recipe):
    model = matcher(recipe=recipe, regions=1.0)
    for photo, together in zip(shapes, model.embed_images(shapes), strict=True):
        (alone,) = model.embed_images([photo])
        torch.testing.assert_close(alone.vectors, together.vectors, rtol=0, atol=1e-5)


@pytest.mark.parametrize("recipe", RECIPES)
def test_links_add_up(shapes, recipe):
    model = matcher(recipe=recipe, regions=0.4)
    images, sentences = model.embed_images(shapes), model.embed_sentences(TEXTS)
    total = scores(model, shapes)
    for k, image in enumerate(images):
        for t, sentence in enumerate(sentences):
            links = SCORES["sum_of_max"].links(image, sentence)
            assert sum(link.similarity for link in links) == pytest.approx(
                float(total[k, t]), abs=1e-5
            )


def test_a_veiled_box_has_its_photos_mean_colour_and_padding_stays():
    vision = matcher().image.sight.vision
    patch = torch.tensor([0.0, 1.0, 2.0]).repeat(4)  # 2 × 2 pixels of three channels
    values = torch.stack([patch, patch + 4, torch.full((12,), 99.0)])[None]
    veil = torch.tensor([[0.0, 1.0, 0.0]])
    faded = vision.veil(Patches(values, torch.tensor([[1, 2]])), veil).values
    torch.testing.assert_close(faded[0, 1], patch + 2)
    assert torch.equal(faded[0, [0, 2]], values[0, [0, 2]])


def test_it_is_adopted_as_any_other(tmp_path, shapes):
    from models import checkpoint
    from training.encoders import adopt as adopting

    out = tmp_path / "naflex.safetensors"
    adopting.adopt(encoders.folder("siglip2"), out, adopting.Choice(), "", "naflex")
    loaded = checkpoint.load(out)
    assert loaded.facts["data"] == {"name": "SigLIP 2 NaFlex, pretrained"}
    assert len(loaded.model.embed_images(shapes)[2]) == 20
