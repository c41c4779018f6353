"""Adoption by the command, and the checkpoint afterwards."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from models import checkpoint, header
from models.encoders.source import number
from tests import encoders
from training.cli import app
from training.encoders import hub


def tessera(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.fixture
def folder(tmp_path):
    made = shutil.copytree(encoders.folder("tipsv2"), tmp_path / "tips")
    (made / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    return made


@pytest.fixture
def adopted(folder, tmp_path):
    out = tmp_path / "tips.safetensors"
    tessera("adopt", folder, "--out", out, "--no-calibrate")
    return out


def test_a_folder_becomes_a_small_checkpoint_that_embeds(folder, tmp_path):
    out = tmp_path / "tips.safetensors"
    said = tessera("adopt", folder, "--out", out, "--lambda", 0.25, "--no-calibrate")
    assert "licence: apache-2.0" in said
    assert "32 numbers a fragment" in said
    assert "warning" not in said
    assert out.stat().st_size < (folder / "model.safetensors").stat().st_size / 4
    loaded = checkpoint.load(out)
    assert (loaded.kind, loaded.name) == ("matchers", "tips")
    assert loaded.facts["licence"] == "apache-2.0"
    assert loaded.model.config.image.options.regions == 0.25
    (image,), (sentence,) = (
        loaded.model.embed_images([torch.zeros(3, 30, 40, dtype=torch.uint8)]),
        loaded.model.embed_sentences(["a dog"]),
    )
    assert image.vectors.shape[1] == sentence.vectors.shape[1] == 32


def test_the_fingerprint_is_that_of_weights_and_options(folder, adopted, tmp_path):
    def other(*options, source=folder):
        out = tmp_path / "other.safetensors"
        out.unlink(missing_ok=True)
        tessera("adopt", source, "--out", out, "--no-calibrate", *options)
        return header.fingerprint(out)

    elsewhere = shutil.copytree(folder, tmp_path / "elsewhere")
    known = header.fingerprint(adopted)
    assert other(source=elsewhere) == known
    assert other("--lambda", 0.5) != known
    assert other("--recipe", "rollout") == known  # the usual one
    assert other("--recipe", "masked") != known
    assert other(source=encoders.folder("clip")) != known


def test_a_moved_folder_is_told_to_the_checkpoint_that_keeps_what_it_has(folder, adopted, tmp_path):
    before = header.fingerprint(adopted)
    folder.rename(tmp_path / "new")
    with pytest.raises(LookupError, match="adopted from there"):
        checkpoint.load(adopted)
    said = tessera("adopt", tmp_path / "new", "--out", adopted, "--lambda", 0.9, "--no-calibrate")
    assert "keeps what it has" in said
    loaded = checkpoint.load(adopted)
    assert loaded.fingerprint == before
    assert loaded.model.config.image.options.regions == 0.2


def test_a_folder_of_open_clip_becomes_a_checkpoint_as_any_other(tmp_path):
    folder = shutil.copytree(encoders.open_clip_folder(), tmp_path / "clip")
    out = tmp_path / "clip.safetensors"
    assert "does not say under which licence" in tessera("adopt", folder, "--out", out)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    shutil.move(folder, tmp_path / "new")
    before = header.fingerprint(out)
    assert "keeps what it has" in tessera("adopt", tmp_path / "new", "--out", out)
    matcher = checkpoint.load(out).model
    assert header.fingerprint(out) == before
    assert out.stat().st_size < 100_000  # its weights stay where they are
    (photo,) = matcher.embed_images([torch.zeros(3, 30, 40, dtype=torch.uint8)])
    (text,) = matcher.embed_sentences(["a dog"])
    assert (photo.vectors.shape[1], text.labels[:2]) == (24, ("a", "dog"))


def test_a_checkpoint_of_something_else_is_not_written_over(adopted, small_matcher, tmp_path):
    assert "is of other weights; choose another --out" in tessera(
        "adopt", encoders.folder("clip"), "--out", adopted, code=1
    )
    taken = shutil.copy(small_matcher, tmp_path / "mine.safetensors")
    assert "is of other weights" in tessera(
        "adopt", encoders.folder("clip"), "--out", taken, code=1
    )


def test_another_recipe_for_a_checkpoint_that_exists_is_refused(folder, adopted):
    before = adopted.read_bytes()
    told = tessera("adopt", folder, "--out", adopted, "--recipe", "masked", code=1)
    assert "exists with the recipe 'rollout'" in told
    assert adopted.read_bytes() == before
    tessera("adopt", folder, "--out", adopted, "--recipe", "rollout", "--no-calibrate")


def test_changed_weights_are_refused_when_they_are_loaded(folder, adopted):
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(ValueError, match=r"model\.safetensors has changed since it was adopted"):
        checkpoint.load(adopted)


def test_a_restricted_licence_is_told_before_anything_is_loaded(folder, tmp_path):
    (folder / "README.md").write_text("---\nlicense: cc-by-nc-4.0\n---\n")
    (folder / "model.safetensors").write_bytes(b"broken")
    said = tessera("adopt", folder, "--out", tmp_path / "x.safetensors", code=1)
    assert said.startswith("warning: the licence cc-by-nc-4.0 allows non-commercial use only")


def test_weights_of_another_model_are_refused(folder, tmp_path):
    shutil.copy(encoders.folder("clip") / "model.safetensors", folder / "model.safetensors")
    said = tessera("adopt", folder, "--out", tmp_path / "x.safetensors", code=1)
    assert "are not of the model that its config.json says: they lack" in said


def spoil_weight(folder):
    state = load_file(folder / "model.safetensors")
    name = next(name for name in state if name.endswith("layer_norm1.bias"))
    state[name][0] = torch.nan
    save_file(state, folder / "model.safetensors", {"format": "pt"})


def spoil_mean(folder):
    file = folder / "preprocessor_config.json"
    described = json.loads(file.read_text())
    file.write_text(json.dumps(described | {"image_mean": [0.5, 0.5]}))


def add_token(folder):
    described = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = described["model"]["vocab"]
    vocabulary["zebra"] = max(vocabulary.values()) + 1_000
    (folder / "tokenizer.json").write_text(json.dumps(described))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoil_weight, "no numbers"),
        (spoil_mean, "cannot embed a text and a"),
        (add_token, "no vector for its token 'zebra'"),
    ],
)
def test_an_encoder_that_cannot_embed_is_refused(spoil, said, tmp_path):
    made = shutil.copytree(encoders.folder("clip"), tmp_path / "clip")
    spoil(made)
    out = tmp_path / "clip.safetensors"
    assert said in tessera("adopt", made, "--out", out, "--no-calibrate", code=1)
    assert not out.exists()


def test_a_name_without_a_folder_is_looked_for_on_the_hub(monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    said = tessera("adopt", "google/tipsv2-b14", "--revision", "main", code=1)
    assert "no repository of that name can be fetched" in said
    assert "hf download google/tipsv2-b14 --local-dir" in said


def test_a_fetched_repository_is_known_by_its_commit_and_estimated(monkeypatch, folder, tmp_path):
    commit = folder.rename(folder.with_name("c0ffee"))
    repository = hub.Repository("google/tipsv2-b14", "c0ffee", "apache-2.0", (), 10, 0, commit)
    monkeypatch.setattr(hub, "find_repository", lambda *_: repository)
    (tmp_path / "models").mkdir()
    said = tessera("adopt", "google/tipsv2-b14", "--out", tmp_path / "models")
    assert "probabilities are estimated from" in said
    (out,) = (tmp_path / "models").iterdir()  # by the weights' hashes
    described = header.read(out)
    assert described["name"] == "tipsv2-b14"
    assert described["config"]["image"]["options"]["revision"] == "c0ffee"
    loaded = checkpoint.load(out)
    assert loaded.calibration.facts["estimated"]
    again = tessera("adopt", "google/tipsv2-b14", "--out", tmp_path / "models")
    assert "keeps what it has" in again
    assert "estimated" not in again


def test_options_that_nothing_knows_are_told(folder, tmp_path):
    out = tmp_path / "x.safetensors"
    assert "no recipe 'glance'" in tessera(
        "adopt", folder, "--out", out, "--recipe", "glance", code=1
    )
    assert "no precision 'int3'" in tessera(
        "adopt", folder, "--out", out, "--precision", "int3", code=1
    )
    assert not out.exists()


def test_the_scale_is_the_encoders_own(adopted, folder):
    temperature = number(folder, "temperature")
    matcher = checkpoint.load(adopted).model
    (photo,) = matcher.embed_images([torch.zeros(3, 9, 9, dtype=torch.uint8)])
    (text,) = matcher.embed_sentences(["dog"])
    lengths = photo.vectors[0].norm() * text.vectors.sum(0).norm()
    assert float(lengths) == pytest.approx(1 / temperature, rel=1e-3)
