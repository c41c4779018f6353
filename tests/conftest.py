"""A small real matcher, and its engine, app and server."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

# What takes seconds to import is imported in fixtures: the process that hands out tests to others
# reads this file, too, and needs nothing of it.
if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.testclient import TestClient

    from app.engine.engine import Engine
    from app.settings import Settings
    from models.scores.calibration import Calibration
    from tests.catalogs import Catalogs
    from tests.outside.s3_server import Store
    from tests.processes.servers import Server

os.environ.setdefault("TESSERA_INFERENCE", "torch")  # as where OpenVINO is not installed

settings.register_profile("untimed", deadline=None)  # machines are shared
settings.load_profile("untimed")

MEMORY, ROOM = Path("/dev/shm"), 4 * 2**30  # noqa: S108 - where files of tests may be
STARTED = {"browser", "forking", "object_store", "postgresql", "s3"}


def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory, and garbage until tests are collected.

    Files of slow tests are on disk: some install gigabytes.
    """
    quick = "not slow" in config.option.markexpr
    if quick and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        keep_in_memory()
    gc.disable()  # until all is collected, which leaves no garbage of note


def keep_in_memory() -> None:
    """Keep temporary files in memory, unless a place for them is chosen."""
    if "TMPDIR" not in os.environ:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None


def pytest_collection_finish() -> None:
    """Leave modules and collected tests out of garbage collections."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests with fixtures of processes, also by a parameter."""
    for item in items:
        parameters = item.callspec.id.split("-") if hasattr(item, "callspec") else []
        if STARTED & {*getattr(item, "fixturenames", ()), *parameters}:
            item.add_marker("system")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Compute on one thread: small tensors wake threads in vain."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Catalogs:
    from tests.catalogs import Catalogs

    return Catalogs(tmp_path_factory.mktemp("catalogs"))


@pytest.fixture
def engine(catalogs: Catalogs, tmp_path: Path) -> Iterator[Engine]:
    from app.engine.engine import Engine
    from app.engine.inference import Models
    from models.checkpoint import Checkpoint
    from tests.colours import Colours, OneSentence, Sides

    matcher = Checkpoint("matchers", "colours", Colours(), "c0104a5000000000", {})
    captioner = Checkpoint("captioners", "sizes", OneSentence(), "517e500000000000", {})
    grounder = Checkpoint("grounders", "sides", Sides(), "51de500000000000", {})
    with catalogs.in_folder(tmp_path) as catalog:
        yield Engine(Models(matcher, captioner, grounder), catalog, tmp_path)


@pytest.fixture
def calibration() -> Calibration:
    """A calibration of colours: probable words score more than 2.

    Texts are probable up to an angle of a half.
    """
    import torch

    from models.scores.calibration import Calibration

    coefficients = torch.tensor([[3.0, 0.0, 0.0, -6.0], [1.0, 0.0, 0.0, -9.0], [6.0, 0, 0, 3.0]])
    return Calibration(torch.ones(1, 3), torch.ones(1, 3), coefficients, 0.25, frozenset({"rosso"}))


@pytest.fixture
def describing(engine: Engine, calibration: Calibration) -> Engine:
    """The engine with probabilities and captioners of colours."""
    from app.engine.engine import Engine
    from app.engine.inference import Models
    from models.checkpoint import Checkpoint
    from tests.colours import ColourNames

    loaded = engine.models.checkpoints
    names = Checkpoint("captioners", "names", ColourNames(), "2a3e500000000000", {})
    loaded = loaded | {
        "matcher": replace(loaded["matcher"], calibration=calibration),
        "captioner": names,
        "region_captioner": names,
    }
    return Engine(Models(**loaded), engine.catalog, engine.folder)


@pytest.fixture(scope="session")
def decoders() -> Iterator[None]:
    """Share processes of decoding: their start outlasts most tests."""
    from app.imports.photo_decoders import Allowance, Decoders

    class Shared(Decoders):
        def close(self) -> None:
            """Leave the processes to the next app."""

    made: dict[tuple[int, Allowance], Shared] = {}

    def of(settings: Settings) -> Decoders:
        kind = (settings.running + 1, Allowance.of(settings))
        return made.setdefault(kind, Shared(*kind))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Decoders, "of", of)
        yield
    for each in made.values():
        Decoders.close(each)


@pytest.fixture
def settings(tmp_path: Path, decoders: None) -> Settings:
    from app.settings import Settings

    return Settings(
        data=tmp_path,
        upload_bytes=200_000,
        item_bytes=400_000,
        upload_pixels=10**6,
        text_bytes=100_000,
        ready_seconds=0.001,  # so that a test sees what it has just changed
        allowed_hosts=("testserver",),
    )


@pytest.fixture
def app(settings: Settings, engine: Engine) -> FastAPI:
    from app.main import create_app

    return create_app(settings, engine)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    from starlette.testclient import TestClient

    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def address(app: FastAPI) -> Iterator[str]:
    """A real server's address, on a free port."""
    from app.http.server import OPTIONS
    from tests.processes.listening import listen

    with listen(app, **OPTIONS) as listening:
        yield listening


@pytest.fixture(scope="session")
def png() -> Callable[..., bytes]:
    """Makes a photo of one colour, or of several side by side."""
    from PIL import Image

    def make(*colours: str, size: tuple[int, int] = (40, 30), form: str = "PNG") -> bytes:
        image = Image.new("RGB", size)
        for place, colour in enumerate(colours):
            left = size[0] * place // len(colours)
            image.paste(colour, (left, 0, size[0], size[1]))
        file = BytesIO()
        image.save(file, form)
        return file.getvalue()

    return make


@pytest.fixture(scope="session")
def small_matcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained matcher's checkpoint file, quick to load and to run."""
    import torch

    from models import checkpoint
    from models.matcher import Config, TwoTowerMatcher

    torch.manual_seed(0)
    image = {"name": "regions", "options": {"sizes": (96,), "embedding": 8}}
    text = {"name": "brnn", "options": {"embedding": 8, "hidden": 8}}
    path = tmp_path_factory.mktemp("checkpoints") / "matcher.safetensors"
    checkpoint.save(path, "matchers", "dvsa", TwoTowerMatcher(Config(image, text)), {})
    return path


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A running PostgreSQL server."""
    from tests.processes.servers import server

    with server() as running:
        if running is None:
            pytest.skip("no PostgreSQL here: install Debian's package postgresql")
        yield running


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A running server of S3."""
    from tests.outside.s3_server import Store

    store = Store(tmp_path_factory.mktemp("buckets"))
    store.start()
    yield store
    store.kill()


@pytest.fixture
def bucket(object_store: Store, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a path in a new bucket, from the environment.

    What fails is not tried again: that takes half a second each time.
    """
    from index.catalog.object_store import OPTIONS

    monkeypatch.setitem(OPTIONS["retry_config"], "max_retries", 0)
    for name, value in object_store.environment.items():
        monkeypatch.setenv(name, value)
    return f"s3://{object_store.bucket()}/tessera/pictures"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a new, empty database: of SQLite, and of PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'catalog.sqlite'}"
        return
    with request.getfixturevalue("postgresql").database() as url:
        yield url
