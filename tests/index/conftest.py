"""Small collections of random bags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from index.bags import position_of
from index.catalog.catalog import Catalog
from index.items import Collection, Entry, Picture
from index.search.index import Index
from index.search.query import SentenceRole
from index.search.requests import Answer, Request
from index.segments.follower import Follower, Sizes
from models.scores.alignment import part_score
from models.types import Box, FragmentBag, Span
from tests.catalogs import Catalogs

MakeBag = Callable[..., FragmentBag]
MakeEntry = Callable[..., Entry]
DIMENSION = 8
SPEAK_SQL = {
    *(
        "test_backup",
        "test_catalog",
        "test_checksums",
        "test_edits",
        "test_facets",
        "test_filters",
    ),
    *("test_garbage", "test_names", "test_reembedding", "test_restating"),
    *("test_sharded", "test_shards"),
    "test_snapshot",
}
TINY = Sizes(chunk=8, least=1, quiet=0.0, largest=192)  # segments of a few items each
Row = tuple[str, int, float]  # item, position and score


@pytest.fixture
def random() -> torch.Generator:
    return torch.Generator().manual_seed(7)


@pytest.fixture
def image_bag(random: torch.Generator) -> MakeBag:
    def make(fragments: int = 3, dimension: int = DIMENSION) -> FragmentBag:
        boxes = tuple(Box(0.0, 0.0, (i + 1) / fragments, 1.0) for i in range(fragments))
        vectors = torch.randn(fragments, dimension, generator=random)
        return FragmentBag(vectors, boxes, tuple(f"region {i}" for i in range(fragments)))

    return make


@pytest.fixture
def sentence_bag(random: torch.Generator) -> MakeBag:
    def make(fragments: int = 2, dimension: int = DIMENSION) -> FragmentBag:
        spans = tuple(Span(2 * i, 2 * i + 1) for i in range(fragments))
        vectors = torch.randn(fragments, dimension, generator=random)
        return FragmentBag(vectors, spans, tuple("é" * (i + 1) for i in range(fragments)))

    return make


@pytest.fixture
def entry(image_bag: MakeBag, sentence_bag: MakeBag, random: torch.Generator) -> MakeEntry:
    """An item of an id, random photos and sentences."""

    def make(item: str, *, sentences: int = 2, photos: int = 1, **fields: Any) -> Entry:
        sizes = torch.randint(1, 6, (photos + sentences,), generator=random).tolist()
        return Entry(
            id=item,
            pictures=(Picture(b"jpeg", 4, 3, "0" * 64),) * photos,
            images=tuple(image_bag(size) for size in sizes[:photos]),
            sentences=tuple(f"sentence {i} of {item}" for i in range(sentences)),
            bags=tuple(sentence_bag(size) for size in sizes[photos:]),
            **fields,
        )

    return make


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of SQL on both databases, except SQLite's own."""
    both = metafunc.module.__name__.rpartition(".")[2] in SPEAK_SQL
    if both and "catalog" in metafunc.fixturenames and not _only_sqlite(metafunc):
        metafunc.parametrize("catalog", ["sqlite", "postgresql"], indirect=True)


def _only_sqlite(metafunc: pytest.Metafunc) -> bool:
    return metafunc.definition.get_closest_marker("sqlite") is not None


@pytest.fixture
def catalog(
    catalogs: Catalogs, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Catalog]:
    folder = tmp_path / "data"
    if getattr(request, "param", "sqlite") == "sqlite":
        with catalogs.in_folder(folder) as catalog:
            yield catalog
    else:
        with catalogs.on_server(request.getfixturevalue("postgresql"), folder) as catalog:
            yield catalog


@pytest.fixture
def collection(catalog: Catalog) -> Collection:
    return catalog.names.make(
        "default", fingerprint="model-a", dimension=DIMENSION, score="sum_of_max"
    )


@pytest.fixture
def segments_folder(tmp_path: Path) -> Path:
    """The folder of all collections' segments in the catalog's data folder."""
    return tmp_path / "data" / "segments"


@pytest.fixture
def index(catalog: Catalog, collection: Collection, segments_folder: Path) -> Iterator[Index]:
    index = Index(catalog, collection, segments_folder)
    yield index
    index.close()


@pytest.fixture
def follower(catalog: Catalog, collection: Collection, segments_folder: Path) -> Follower:
    return Follower(catalog, collection, segments_folder / collection.token, TINY)


@pytest.fixture
def follow(follower: Follower) -> Callable[[], None]:
    """Has the follower do everything there is to do."""

    def work() -> None:
        while follower.step(flush=True):
            pass

    return work


@pytest.fixture
def brute_force(catalog: Catalog, collection: Collection) -> Callable[[Request], list[Row]]:
    """A request's hits by scores one by one, best first."""

    def score(request: Request, bag: FragmentBag) -> float:
        query = request.query
        if request.role is SentenceRole.ROWS_ARE_SENTENCES:
            return part_score(request.query.bag, bag, collection.score, floored=False)
        if request.role is SentenceRole.BOTH_ARE_SENTENCES:
            return sum(
                weight * float(torch.cosine_similarity(part.vectors.sum(0), bag.vectors.sum(0), 0))
                for part, weight in zip(query.parts, query.weights, strict=True)
            )
        return sum(
            weight * part_score(bag, part, collection.score, floored=floored)
            for part, weight, floored in zip(query.parts, query.weights, query.floored, strict=True)
        )

    def search(request: Request) -> list[Row]:
        items = catalog.list_items(collection, limit=10**6, where=request.where)
        if request.side == "images":
            keys = {
                (item.revision, position_of(photo)): (item.id, position_of(photo))
                for item in items
                for photo in range(len(item.photos))
            }
        else:
            keys = {
                (item.revision, position): (item.id, position)
                for item in items
                for position in range(len(item.sentences))
            }
        stored = catalog.bags(collection, list(keys))
        found = [(*keys[key], score(request, one.bag)) for key, one in stored.items()]
        found.sort(key=lambda row: (-row[2], row[0], abs(row[1])))
        if request.side == "images":  # of an item the best photo
            best = {row[0]: row for row in reversed(found)}
            found = sorted(best.values(), key=lambda row: (-row[2], row[0]))
        return found

    return search


@pytest.fixture
def right(brute_force: Callable[[Request], list[Row]]) -> Callable[[Request, Answer], bool]:
    """Says whether an answer has the best rows in order."""

    def check(request: Request, answer: Answer) -> bool:
        truth = brute_force(request)
        scores = {row[:2]: row[2] for row in truth}
        hits = answer.hits
        names = [(hit.item, hit.position) for hit in hits]
        assert len(set(names)) == len(names) == min(request.limit, len(truth))
        assert [hit.key for hit in hits] == sorted(hit.key for hit in hits)
        assert [hit.score for hit in hits] == pytest.approx(
            [scores[one] for one in names], rel=1e-5, abs=1e-5
        )
        best = [row[2] for row in truth[: len(hits)]]  # rows that score alike may change places
        assert [hit.score for hit in hits] == pytest.approx(best, rel=1e-5, abs=1e-5)
        assert answer.more == (len(truth) > len(hits))
        return True

    return check
