"""One command fetches and adopts an encoder, and moves the collections."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from app import chosen_model
from app.chosen_model import ChosenModel
from app.cli.chosen_model import drop_former, list_former, prepare, refuse_workers
from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.engine.inference import Models
from app.settings import Settings
from index.catalog.catalog import Catalog
from models import header
from tests import encoders
from tests.outside.hub import serve_hub
from tests.processes.waiting import eventually
from tests.stored_items import put

NAME, STARTING = "google/tips", 900.0
ROOT = Path(__file__).parents[3]


def find_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@contextmanager
def service(folder: Path, *arguments: str, **environment: str) -> Iterator[httpx.Client]:
    """`tessera serve` on a data folder, once it is ready."""
    port = find_port()
    command = (sys.executable, "tessera.py", "serve", "--no-sample", "--port", port, *arguments)
    with run(folder, port, command, **environment) as client:
        yield client


@contextmanager
def make(folder: Path, *arguments: str, **environment: str) -> Iterator[httpx.Client]:
    """`make run` with the environment of the tests, once it is ready."""
    port = find_port()
    installed = ("--assume-old=install", f"VENV={sys.prefix}", "UV=true")
    command = ("make", *installed, "run", f"PORT={port}", *arguments)
    with run(folder, port, command, **environment) as client:
        yield client


@contextmanager
def run(
    folder: Path, port: str, command: Sequence[str], **environment: str
) -> Iterator[httpx.Client]:
    none = dict.fromkeys(("CAPTIONER", "REGION_CAPTIONER", "GROUNDER"), str(folder / "none"))
    none["DATA"] = str(folder / "data")
    about = {f"TESSERA_{key}": value for key, value in none.items()} | environment
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=ROOT,
            env=os.environ | about | {"HF_HOME": str(folder / "hub"), "PYTHONPATH": str(ROOT)},
            stderr=log,
        )
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300)

    def ready() -> bool:
        assert process.poll() is None, (folder / "log").read_text()
        try:
            return client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    try:
        eventually(ready, STARTING, every=0.2)
        yield client
    finally:
        client.close()
        process.terminate()
        process.wait()


def search(client: httpx.Client, **asked: float) -> httpx.Response:
    return client.post("/search/image", json={"text": "a red dog"} | asked)


@pytest.mark.system
@pytest.mark.timeout(3000)
def test_one_command_fetches_adopts_calibrates_and_moves_a_collection(
    small_matcher: Path, tmp_path: Path, png: Callable[..., bytes]
) -> None:
    weights = shutil.copytree(encoders.folder("tipsv2"), tmp_path / "tips")
    (weights / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    old = {"TESSERA_MATCHER": str(small_matcher)}
    folder, colours = tmp_path / "data", ("red", "blue", "green")
    engine = Engine(Models.load(small_matcher, None, None), Catalog.in_folder(folder), folder)
    put(engine, "default", [Draft(colour).with_photo(png(colour)) for colour in colours])
    assert engine.models.calibration is None  # so that no hit has a probability
    engine.close()
    with serve_hub(google__tips=weights) as hub:
        asked = ("--model", NAME)
        with service(tmp_path, *asked, **old, HF_ENDPOINT=hub.address) as client:

            def moved() -> bool:
                assert "was not taken" not in (tmp_path / "log").read_text()
                answer = search(client)
                assert answer.status_code == 200, answer.text  # all the time
                assert len(answer.json()["hits"]) == 3
                return answer.json()["hits"][0]["probability"] is not None

            eventually(moved, STARTING, every=1.0)
            assert search(client, min_probability=0.0).status_code == 200
        commit = hub.commit(NAME)
    log = (tmp_path / "log").read_text()
    assert "licence, as stated there: apache-2.0" in log
    remembered = json.loads((tmp_path / "data" / "model.json").read_text())
    assert remembered["model"] == NAME
    assert remembered["revision"] == commit
    assert remembered["licence"] == "apache-2.0"
    with service(tmp_path) as client:  # without the hub, and without a word about the model
        assert len(search(client, min_probability=0.0).json()["hits"]) == 3


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_make_run_takes_a_model_and_returns_to_the_one_that_ships(
    tmp_path: Path, png: Callable[..., bytes]
) -> None:
    weights = shutil.copytree(encoders.folder("siglip"), tmp_path / "siglip")
    (weights / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    (photos := tmp_path / "photos").mkdir()
    for colour in ("red", "blue"):
        (photos / f"{colour}.png").write_bytes(png(colour))
    asked = (f"MODEL={NAME}", f"PHOTOS={photos}")
    with (
        serve_hub(google__tips=weights) as hub,
        make(tmp_path, *asked, HF_ENDPOINT=hub.address) as client,
    ):
        eventually(lambda: len(search(client).json()["hits"]) == 2, STARTING, every=1.0)
        assert search(client).json()["model"] == "tips"
        assert search(client).json()["hits"][0]["probability"] is not None
    log = (tmp_path / "log").read_text()
    stated = f"{NAME} at {hub.commit(NAME)[:12]}"
    assert log.index(stated) < log.index("Fetching") < log.index("Tessera is running")
    assert "licence, as stated there: apache-2.0" in log
    with make(tmp_path, "MODEL=shipped") as client:
        assert search(client).json()["model"] == "tips"
        eventually(lambda: search(client).json()["model"] != "tips", STARTING, every=1.0)
        assert len(search(client).json()["hits"]) == 2
    assert "the matcher that ships answers from now on" in (tmp_path / "log").read_text()
    assert not (tmp_path / "data" / "model.json").exists()


@pytest.fixture
def adopted(tmp_path: Path, small_matcher: Path) -> Path:
    """A data folder with an adopted model, a copied small matcher."""
    folder = tmp_path / "data"
    (folder / "models").mkdir(parents=True)
    shutil.copy(small_matcher, folder / "models/m.safetensors")
    chosen_model.write(folder, ChosenModel("a/b", "models/m.safetensors", "c0ffee", "mit"))
    return folder


def test_a_data_folder_remembers_its_model_unless_one_is_set(
    adopted: Path, small_matcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Settings(data=adopted).matcher == adopted / "models/m.safetensors"
    moved = adopted.rename(tmp_path / "elsewhere")
    assert Settings(data=moved).matcher == moved / "models/m.safetensors"
    monkeypatch.setenv("TESSERA_MATCHER", str(small_matcher))
    assert Settings(data=moved).matcher == small_matcher
    monkeypatch.delenv("TESSERA_MATCHER")
    chosen_model.write(moved, None)
    assert chosen_model.read(moved) is None
    (moved / "model.json").write_text("{}")
    with pytest.raises(ValueError, match="run `tessera serve --model` again"):
        Settings(data=moved)


def test_collections_that_have_to_move_need_one_process() -> None:
    refuse_workers(None, 4)
    refuse_workers("a/b", 1)
    with pytest.raises(ValueError, match="--workers 1 until the log says that a/b answers"):
        refuse_workers("a/b", 4)


def test_the_former_collections_are_dropped_and_others_stay(
    small_matcher: Path, tmp_path: Path
) -> None:
    models = Models.load(small_matcher, None, None)
    catalog = Catalog.in_folder(tmp_path)
    for name in ("default", "other"):
        catalog.names.make(name, fingerprint="old", dimension=8, score="sum_of_max")
    engine = Engine(models, catalog, tmp_path)
    engine.reembed("default", lambda done, total: None, keep=True)
    assert list_former(catalog, models.fingerprint) == ["default@old"]
    drop_former(catalog, models.fingerprint)
    assert [home.name for home in catalog.names.all()] == ["default", "other"]
    engine.close()


def test_an_old_model_serves_until_its_collections_have_moved(
    small_matcher: Path, tmp_path: Path, png: Callable[..., bytes]
) -> None:
    settings = Settings(data=tmp_path, matcher=small_matcher)
    engine = Engine(Models.load(small_matcher, None, None), Catalog.in_folder(tmp_path), tmp_path)
    engine.put_each("default", engine.open("default"), [Draft("a", sentences=("a dog",))])
    engine.close()
    assert prepare("a/b", settings) == (settings, "a/b")
    assert header.fingerprint(settings.matcher) == engine.models.fingerprint
