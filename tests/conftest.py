"""A small real matcher, and an engine, an app and a server around it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
import torch
import uvicorn
from fastapi import FastAPI
from hypothesis import settings
from PIL import Image, ImageColor
from starlette.testclient import TestClient
from torch import Tensor

from app.engine import Engine
from app.inference import Models
from app.main import create_app
from app.settings import Settings
from index.catalog import Catalog
from models import checkpoint
from models.calibration import Calibration
from models.checkpoint import Checkpoint
from models.matcher import Config, Matcher
from models.parsing import parse
from models.registry import Caption, CaptionWord, Generation
from models.towers import Sight
from models.types import Box, FragmentBag, Span
from tests.servers import Server, server

settings.register_profile("untimed", deadline=None)  # machines are shared
settings.load_profile("untimed")

QUADRANTS = (
    Box(0, 0, 1, 1),
    *(Box(x, y, x + 0.5, y + 0.5) for y in (0.0, 0.5) for x in (0.0, 0.5)),
)


class Quadrants(Sight):
    """The mean colour of a photo, and of its four quadrants."""

    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        boxes = torch.tensor([[b.left, b.top, b.right, b.bottom] for b in QUADRANTS])
        return [self._means(image.float() / 127.5 - 1) for image in images], [boxes] * len(images)

    def key(self) -> str:
        return "quadrants"

    def _means(self, image: Tensor) -> Tensor:
        _, H, W = image.shape
        parts = [
            image[
                :,
                int(b.top * H) : max(1, int(b.bottom * H)),
                int(b.left * W) : max(1, int(b.right * W)),
            ]
            for b in QUADRANTS
        ]
        return torch.stack([part.mean(dim=(1, 2)) for part in parts]).nan_to_num()


class Colours:
    """A matcher that knows colours: a word's vector is its colour, a region's its mean colour."""

    dimension = 3
    score = "sum_of_max"
    any_word = False

    def __init__(self) -> None:
        self.sight: Sight = Quadrants()

    def embed_images(self, images: Sequence[Tensor]) -> list[FragmentBag]:
        return self.embed_inputs(*self.sight(images))

    def embed_inputs(self, inputs: Sequence[Tensor], boxes: Sequence[Tensor]) -> list[FragmentBag]:
        labels = ("whole photo", *(f"region {i}" for i in range(1, len(QUADRANTS))))
        return [FragmentBag(vectors, QUADRANTS, labels) for vectors in inputs]

    def embed_sentences(self, texts: Sequence[str]) -> list[FragmentBag]:
        bags = []
        for sentence in map(parse, texts):
            vectors = torch.stack([self.word(word.text.lower()) for word in sentence.words])
            labels = tuple(word.text for word in sentence.words)
            bags.append(FragmentBag(vectors, tuple(w.span for w in sentence.words), labels))
        return bags

    def word(self, word: str) -> Tensor:
        colour = ImageColor.getrgb(word) if word in ImageColor.colormap else (127.5,) * 3
        return torch.tensor(colour[:3]) / 127.5 - 1


class Sizes(Sight):
    """The width and height of a photo."""

    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        sizes = [torch.tensor([[float(image.shape[2]), image.shape[1]]]) for image in images]
        return sizes, [torch.tensor([[0.0, 0.0, 1.0, 1.0]]) for _ in images]

    def key(self) -> str:
        return "sizes"


class OneSentence:
    """A captioner that says the size."""

    of_regions = False

    def __init__(self) -> None:
        self.sight: Sight = Sizes()

    def describe(self, inputs: Sequence[Tensor], generation: Generation) -> list[list[Caption]]:
        texts = [f"{int(size[0, 0])} by {int(size[0, 1])}".split() for size in inputs]
        return [
            [
                Caption(tuple(CaptionWord(word, -rank / 3) for word in words), -float(rank))
                for rank in range(generation.count)
            ]
            for words in texts
        ]


class ColourNames:
    """A captioner that names what is left and right, and lime where there is none; or a region.

    It looks at what it names.
    """

    of_regions = True

    def __init__(self) -> None:
        self.sight: Sight = Quadrants()

    def describe(self, inputs: Sequence[Tensor], generation: Generation) -> list[list[Caption]]:
        return [[self._caption(colours)] * generation.count for colours in inputs]

    def _caption(self, colours: Tensor) -> Caption:
        names = [self._name(colour) for colour in colours]
        line = (
            [*names, "thing"]
            if len(names) == 1
            else ["a", names[1], "by", "a", names[2], "and", "lime"]
        )
        looked = {1: 1, 4: 2} if len(names) > 1 else {}
        attention = torch.eye(len(names))
        words = (
            CaptionWord(word, -0.5, attention[looked.get(at, 0)]) for at, word in enumerate(line)
        )
        return Caption(tuple(words), -0.5 * len(line))

    def _name(self, colour: Tensor) -> str:
        known = ("red", "blue", "white", "black")
        return min(known, key=lambda name: float((Colours().word(name) - colour).abs().sum()))


class Sides:
    """A grounder that means the left half by "left", the right one by any other phrase."""

    def locate(self, image: Tensor, text: str, spans: Sequence[Span]) -> tuple[Tensor, Tensor]:
        parse(text)
        left = torch.tensor([text[s.start : s.end].lower() == "left" for s in spans])
        boxes = torch.tensor([[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]])
        return boxes, torch.stack([left.float(), 1 - left.float()], dim=1)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Small tensors spend their time waking threads: one is many times as fast as two."""
    torch.set_num_threads(1)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    matcher = Checkpoint("matchers", "colours", Colours(), "c0104a5000000000", {})
    captioner = Checkpoint("captioners", "sizes", OneSentence(), "517e500000000000", {})
    grounder = Checkpoint("grounders", "sides", Sides(), "51de500000000000", {})
    catalog = Catalog.in_folder(tmp_path)
    yield Engine(Models(matcher, captioner, grounder), catalog, tmp_path)
    catalog.close()


@pytest.fixture
def calibration() -> Calibration:
    """That of the colours: a word has to score more than 2 to be probable."""
    coefficients = torch.tensor([[3.0, 0.0, 0.0, -6.0], [1.0, 0.0, 0.0, -9.0], [3.0, 0, 0, -6.0]])
    return Calibration(torch.ones(1, 3), torch.ones(1, 3), coefficients, 0.25, frozenset({"rosso"}))


@pytest.fixture
def describing(engine: Engine, calibration: Calibration) -> Engine:
    """The engine with probabilities, and captioners of photos and of regions that name colours."""
    loaded = engine.models.checkpoints
    names = Checkpoint("captioners", "names", ColourNames(), "2a3e500000000000", {})
    loaded = loaded | {
        "matcher": replace(loaded["matcher"], calibration=calibration),
        "captioner": names,
        "region_captioner": names,
    }
    return Engine(Models(**loaded), engine.catalog, engine.folder)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data=tmp_path,
        upload_bytes=200_000,
        item_bytes=400_000,
        upload_pixels=10**6,
        text_bytes=100_000,
        allowed_hosts=("testserver",),
    )


@pytest.fixture
def app(settings: Settings, engine: Engine) -> FastAPI:
    return create_app(settings, engine)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def address(app: FastAPI) -> Iterator[str]:
    """Where a real server of the app listens, on a free port."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive(), "the server did not start"
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="session")
def png() -> Callable[..., bytes]:
    """Makes a photo of one colour, or of several side by side."""

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
    torch.manual_seed(0)
    image = {"name": "regions", "options": {"sizes": (96,), "embedding": 8}}
    text = {"name": "brnn", "options": {"embedding": 8, "hidden": 8}}
    path = tmp_path_factory.mktemp("checkpoints") / "matcher.safetensors"
    checkpoint.save(path, "matchers", "dvsa", Matcher(Config(image, text)), {})
    return path


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A running PostgreSQL server."""
    with server() as running:
        if running is None:
            pytest.skip("no PostgreSQL here: install Debian's package postgresql")
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a new, empty database: of SQLite, and of PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'catalog.sqlite'}"
        return
    with request.getfixturevalue("postgresql").database() as url:
        yield url
