"""Weights come from a hub at one commit, or its cache."""

import shutil

import huggingface_hub
import pytest

from tests import encoders
from tests.outside.hub import serve_hub
from training.encoders import hub as hubs

NAME = "google/tips"


@pytest.fixture
def folder(tmp_path):
    made = shutil.copytree(encoders.folder("tipsv2"), tmp_path / "tips")
    (made / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    (made / "pytorch_model.bin").write_bytes(b"a pickle")
    (made / "modeling.py").write_text("raise SystemExit")
    return made


@pytest.fixture
def hub(folder, tmp_path, monkeypatch):
    """A hub with a repository, known to the library."""
    with serve_hub(google__tips=folder) as served:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", served.address)
        monkeypatch.setattr(
            huggingface_hub.constants,
            "HUGGINGFACE_CO_URL_TEMPLATE",
            served.address + "/{repo_id}/resolve/{revision}/{filename}",
        )
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield served


def test_size_and_licence_are_known_before_anything_large_is_fetched(hub, folder):
    repository = hubs.find_repository(NAME, None)
    assert repository.commit == hub.commit(NAME)
    assert repository.licence == "apache-2.0"
    assert repository.size == sum((folder / name).stat().st_size for name in repository.files)
    assert hub.fetched() <= {"README.md"}


def test_weights_are_fetched_at_one_commit_without_pickles_and_programs(hub, folder):
    lines = []
    weights = hubs.locate(NAME, "main", lines.append)
    assert weights.revision == hub.commit(NAME) == weights.folder.name
    assert weights.name == "tips"
    fetched = {path.name for path in weights.folder.iterdir()}
    assert {"model.safetensors", "tokenizer.json", "README.md"} <= fetched
    assert not fetched & {"pytorch_model.bin", "modeling.py"}
    (line,) = lines
    assert "licence, as stated there: apache-2.0" in line
    assert weights.revision[:12] in line


def test_what_was_fetched_is_found_without_a_hub(hub, monkeypatch):
    fetched = hubs.locate(NAME, None, lambda line: None)
    hub.gated.add("nothing")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert hubs.locate(NAME, None, lambda line: None) == fetched
    assert hubs.locate(f"{NAME}@{fetched.revision}", None, lambda line: None) == fetched


def test_what_a_hub_does_not_give_has_a_reason_and_a_way(hub, monkeypatch):
    with pytest.raises(LookupError, match="no revision 'v9'"):
        hubs.find_repository(NAME, "v9")
    with pytest.raises(LookupError, match="the hub has no repository of that name"):
        hubs.find_repository("google/absent", None)
    with pytest.raises(LookupError, match="a repository of a hub has a name such as"):
        hubs.locate("siglip2.safetensors", None, print)
    hub.gated.add(NAME)
    with pytest.raises(LookupError, match="agree on its page, run `hf auth login`"):
        hubs.find_repository(NAME, None)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(LookupError, match="`hf download google/other --local-dir FOLDER`"):
        hubs.find_repository("google/other", None)
