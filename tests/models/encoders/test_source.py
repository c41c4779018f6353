"""Adoptable folders, and reasons against others."""

import json
import shutil

import pytest

from models.encoders.source import EncoderSource, digest, number
from tests import encoders


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(encoders.folder("clip"), tmp_path / "clip")


def test_a_source_names_every_file_that_makes_the_model(folder):
    (folder / "README.md").write_text("about")
    source = EncoderSource.of(folder)
    assert [name for name, _ in source.files] == [
        "config.json",
        "model.safetensors",
        "preprocessor_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert source.check() == folder
    assert dict(source.files)["model.safetensors"] == digest(folder / "model.safetensors")


def test_a_changed_file_is_refused(folder):
    source = EncoderSource.of(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"projection_dim": 7}))
    with pytest.raises(ValueError, match=r"config\.json has changed since it was adopted"):
        source.check()


def test_a_folder_that_is_gone_is_told_with_what_to_do(folder):
    source = EncoderSource.of(folder)
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(LookupError, match="adopted from there; `tessera adopt FOLDER --out CH"):
        source.check()


def test_a_lost_file_is_told(folder):
    source = EncoderSource.of(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(LookupError, match=r"tokenizer\.json is gone"):
        source.check()


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_without_one_of_its_files_is_refused(folder, name):
    (folder / name).unlink()
    with pytest.raises(LookupError, match=f"lacks {name}"):
        EncoderSource.of(folder)


def test_either_settings_of_photos_will_do(folder):
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(LookupError, match=r"lacks preprocessor_config.json or processor_config"):
        EncoderSource.of(folder)


def test_pickles_are_refused(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"weights as pytorch_model\.bin: loading a pickle runs"):
        EncoderSource.of(folder)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"model_type": "blip"},
            "is a 'blip'; Tessera explains clip, colmodernvbert, colpali, colqwen2, "
            "siglip, siglip2, tipsv2",
        ),
        ({"model_type": "x", "auto_map": {}}, "run code of its own; Tessera runs none"),
    ],
)
def test_another_model_is_refused(folder, config, said):
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=said):
        EncoderSource.of(folder)


def test_settings_that_are_no_json_are_refused(folder):
    (folder / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json is not JSON"):
        EncoderSource.of(folder)


def test_weights_in_several_files_are_all_named(folder):
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    index = {"weight_map": {"logit_scale": "model-00001-of-00001.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    names = [name for name, _ in EncoderSource.of(folder).files]
    assert "model-00001-of-00001.safetensors" in names
    assert "model.safetensors.index.json" in names
    assert number(folder, "logit_scale") == number(encoders.folder("clip"), "logit_scale")


def test_a_number_that_the_weights_lack_is_told():
    with pytest.raises(LookupError, match="have no height"):
        number(encoders.folder("clip"), "height")
