"""Folders in open_clip's layout, compared with open_clip's model, preprocessing and tokenizer."""

import json
import math
import shutil
from contextlib import contextmanager

import pytest
import torch
from safetensors.torch import load_file, save_file
from torchvision.transforms.functional import to_pil_image

from models.encoders.layouts import FolderLayout
from models.encoders.open_clip import OpenClipLayout, rename
from models.encoders.source import EncoderSource, family, layout, number
from models.matcher import Config, TowerOptions, TwoTowerMatcher
from models.scores.scoring import SCORES
from models.types import PaddedBags
from tests import encoders

TEXTS = [*encoders.TEXTS, "A DOG isn't a cat's 12 trees! " * 9]  # the last is longer than is read
VARIANTS = {
    "gelu": ({}, {}),
    "quick_gelu": ({"interpolation": "bilinear"}, {"quick_gelu": True}),
    "squash": ({"resize_mode": "squash", "mean": (0.5,) * 3, "std": (0.5,) * 3}, {}),
}


@pytest.fixture(scope="module", params=VARIANTS)
def saved(request, tmp_path_factory):
    preprocessing, sizes = VARIANTS[request.param]
    encoders.save_open_clip(folder := tmp_path_factory.mktemp("saved"), preprocessing, **sizes)
    return folder


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(encoders.open_clip_folder(), tmp_path / "clip")


@pytest.fixture(scope="module")
def uneven(photos):
    """Oblong photos; the last's crop begins at pixel 17.5."""
    return [*photos, torch.arange(3 * 64 * 99).mul(7).to(torch.uint8).view(3, 64, 99)]


def matcher(folder, regions):
    options = encoders.options_of(folder) | {"scale": 1.0}
    return TwoTowerMatcher(
        Config(
            TowerOptions.of("image_towers", "pretrained", options | {"regions": regions}),
            TowerOptions.of("text_towers", "pretrained", options),
        )
    ).eval()


def scores(images, sentences):
    bags = (PaddedBags.of([bag.vectors for bag in own]) for own in (images, sentences))
    return SCORES["sum_of_max"](*bags)


def test_photos_and_scores_are_those_of_open_clip(saved, uneven):
    import open_clip

    model, _, prepare = open_clip.create_model_and_transforms(f"local-dir:{saved}")
    read = open_clip.get_tokenizer(f"local-dir:{saved}")(TEXTS)
    pixels = torch.stack([prepare(to_pil_image(photo)) for photo in uneven])
    with torch.inference_mode():
        images = model.eval().encode_image(pixels, normalize=True)
        expected = images @ model.encode_text(read, normalize=True).T
    ours = matcher(saved, regions=0.0)
    assert torch.equal(ours.image.sight.vision.preparation(uneven), pixels)
    given = scores(ours.embed_images(uneven), ours.embed_sentences(TEXTS))
    torch.testing.assert_close(given, expected, rtol=0, atol=1e-5)
    assert number(saved, "logit_scale") == float(model.logit_scale.detach())


@pytest.mark.parametrize("name", ["ViT-B-32", "ViT-B-16-quickgelu", "ViT-L-14", "ViT-H-14"])
def test_every_weight_of_open_clips_own_sizes_has_its_place(name, tmp_path):
    import open_clip
    from transformers import CLIPConfig, CLIPModel

    sizes = open_clip.get_model_config(name)
    (tmp_path / "open_clip_config.json").write_text(json.dumps({"model_cfg": sizes}))
    with torch.device("meta"):
        given = open_clip.CLIP(**sizes).state_dict()
        wanted = CLIPModel(CLIPConfig.from_dict(layout(tmp_path).config())).state_dict()
    made = [pair for name, tensor in given.items() for pair in rename(name, tensor)]
    shapes = {name: tensor.shape for name, tensor in wanted.items()}
    assert {name: tensor.shape for name, tensor in made} == shapes
    assert len(made) == len(shapes)


def test_weights_in_half_precision_are_computed_in_the_precision_that_is_chosen(folder):
    from models.encoders import clip

    file = folder / "open_clip_model.safetensors"
    save_file({name: tensor.half() for name, tensor in load_file(file).items()}, file)
    dtypes = {weight.dtype for weight in clip.Texts(folder, "float32").parameters()}
    assert dtypes == {torch.float32}


def test_links_add_up(saved, uneven):
    mixed = matcher(saved, regions=0.4)
    images, sentences = mixed.embed_images(uneven), mixed.embed_sentences(TEXTS)
    expected = scores(images, sentences)
    for k, image in enumerate(images):
        for l, sentence in enumerate(sentences):  # noqa: E741 - the papers' letter
            links = SCORES["sum_of_max"].links(image, sentence)
            assert math.fsum(link.similarity for link in links) == pytest.approx(
                float(expected[k, l]), abs=1e-5
            )


def test_what_is_seen_of_a_photo_begins_where_its_crop_does(folder):
    from models.encoders.photos import Preparation

    assert Preparation.of(folder).visible_part(64, 99).left == 18 / 99


def test_a_source_names_every_file_that_makes_the_model(folder):
    assert [name for name, _ in EncoderSource.of(folder).files] == [
        "open_clip_config.json",
        "open_clip_model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert family(folder) == "clip"


def test_the_tokenizer_alone_is_enough_of_its_files(folder):
    with_settings = layout(folder).tokenizer()(TEXTS)["input_ids"]
    (folder / "tokenizer_config.json").unlink()
    assert layout(folder).tokenizer()(TEXTS)["input_ids"] == with_settings


def test_a_folder_with_both_layouts_is_read_in_that_of_transformers(folder):
    shutil.copytree(encoders.folder("clip"), folder, dirs_exist_ok=True)
    assert type(layout(folder)) is FolderLayout
    assert "open_clip_model.safetensors" not in dict(EncoderSource.of(folder).files)


def test_settings_of_another_library_beside_it_do_not_matter(folder):
    """As timm's repositories have them, with image weights alone."""
    (folder / "config.json").write_text('{"architecture": "vit_base_patch16_clip_224"}')
    (folder / "model.safetensors").write_bytes(b"")
    assert type(layout(folder)) is OpenClipLayout


def test_files_that_came_after_adoption_and_would_be_read_are_refused(folder):
    source = EncoderSource.of(folder)
    shutil.copytree(encoders.folder("clip"), folder, dirs_exist_ok=True, ignore=keep_tokenizer)
    with pytest.raises(ValueError, match=r"has config\.json, model\.safetensors, .* now, which"):
        source.check()


def keep_tokenizer(_, names):
    return [name for name in names if name.startswith("tokenizer")]


@pytest.mark.parametrize(
    ("part", "option", "value"),
    [
        ("vision_cfg", "timm_model_name", "vit_base_patch16_siglip_224"),
        ("text_cfg", "hf_model_name", "roberta-base"),
        ("text_cfg", "hf_tokenizer_name", "facebook/xlm-v-base"),
        ("vision_cfg", "attentional_pool", True),
        ("vision_cfg", "pool_type", "avg"),
        ("text_cfg", "pool_type", "last"),
        ("text_cfg", "no_causal_mask", True),
        ("text_cfg", "embed_cls", True),
        ("text_cfg", "output_tokens", True),
        ("vision_cfg", "ls_init_value", 1e-4),
        ("vision_cfg", "norm_kwargs", {"eps": 1e-6}),
        ("vision_cfg", "layers", [3, 4, 6, 3]),
        ("vision_cfg", "image_size", [224, 448]),
        ("text_cfg", "width", "512"),
        ("text_cfg", "of_tomorrow", 1),
    ],
)
def test_what_is_no_plain_clip_is_refused_with_the_option(folder, part, option, value):
    change(folder, part, option, value)
    with pytest.raises(ValueError, match=rf"{option} = .* in its {part}: .* layout of transf"):
        EncoderSource.of(folder)


@contextmanager
def rewritten(folder):
    """Change the settings of a folder within the context."""
    file = folder / "open_clip_config.json"
    settings = json.loads(file.read_text())
    yield settings
    file.write_text(json.dumps(settings))


def change(folder, part, option, value):
    with rewritten(folder) as settings:
        settings["model_cfg"][part][option] = value


@pytest.mark.parametrize(
    ("part", "option", "value"),
    [
        ("vision_cfg", "patch_dropout", 0.5),
        ("vision_cfg", "timm_model_name", None),
        ("vision_cfg", "pool_type", "tok"),
        ("vision_cfg", "image_size", [64, 64]),
        ("text_cfg", "output_tokens", False),
    ],
)
def test_options_that_change_no_vector_are_taken(folder, part, option, value):
    before = layout(folder).config()
    change(folder, part, option, value)
    assert layout(folder).config() == before


def test_another_kind_of_model_is_refused(folder):
    with rewritten(folder) as settings:
        settings["model_cfg"]["multimodal_cfg"] = {"width": 16}
    with pytest.raises(ValueError, match=r"multimodal_cfg = .* in its model_cfg"):
        EncoderSource.of(folder)


@pytest.mark.parametrize(
    ("option", "value"), [("resize_mode", "longest"), ("interpolation", "nearest")]
)
def test_photos_prepared_in_another_way_are_refused(folder, option, value):
    with rewritten(folder) as settings:
        settings["preprocess_cfg"][option] = value
    with pytest.raises(ValueError, match=f"{option} = '{value}' in its preprocess_cfg"):
        EncoderSource.of(folder)


@pytest.mark.parametrize("part", ["model_cfg", "vision_cfg", "text_cfg", "embed_dim"])
def test_settings_without_a_part_are_refused(folder, part):
    with rewritten(folder) as settings:
        for options in (settings, settings["model_cfg"]):
            options.pop(part, None)
    with pytest.raises(ValueError, match=f"has no {part}"):
        EncoderSource.of(folder)


def test_a_folder_without_a_tokenizer_is_told_where_there_is_one(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(
        LookupError, match=r"lacks tokenizer\.json: .* copy that of openai/clip-vit"
    ):
        EncoderSource.of(folder)


def test_pickles_are_refused(folder):
    (folder / "open_clip_model.safetensors").rename(folder / "open_clip_pytorch_model.bin")
    with pytest.raises(ValueError, match=r"a pickle .* same model as open_clip_model\.safetensors"):
        EncoderSource.of(folder)


def test_weights_of_another_size_are_refused(folder):
    change(folder, "vision_cfg", "patch_size", 32)
    with pytest.raises(ValueError, match=r"not of the model that its open_clip_config\.json says"):
        matcher(folder, regions=0.0)
