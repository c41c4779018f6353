"""A service on a real Ray cluster under a change of matcher."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Set
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from app.engine.engine import Engine
from app.imports import folder, storing
from index.search.requests import Request
from tests.kills.__main__ import matchers
from tests.processes.clusters import actors, kill
from tests.processes.sites import STARTING
from tests.processes.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore::ResourceWarning")]
TEXT = "red blue"
Scores = dict[str, float]  # by id


class Asking:
    """A client in an endless search; errors are raised at the end."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.answers: list[Scores] = []
        self.failure: BaseException | None = None

    def __enter__(self) -> Asking:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def more(self, count: int = 3) -> None:
        """Wait for some answers to newer questions."""
        until = len(self.answers) + count + 1
        eventually(lambda: self.failure or len(self.answers) >= until, STARTING)

    def _ask(self) -> None:
        try:
            while not self._stopped.wait(0.02):
                self.answers.append(scores_of(self._client))
        except BaseException as failed:  # noqa: BLE001 - raised in the test's own thread
            self.failure = failed


@pytest.fixture
def new_matcher(tmp_path) -> Path:
    """Another matcher than the site's: of the same kind, with other weights."""
    return matchers(tmp_path / "matchers")[1]


@pytest.fixture
def new_engine(site, new_matcher) -> Iterator[Engine]:
    """One machine's engine of the new matcher on the site's database."""
    settings = site.settings.model_copy(update={"matcher": new_matcher})
    with closing(Engine.load(settings)) as made:
        yield made


def test_searches_go_on_while_the_matcher_changes_and_an_actor_is_killed(
    site, engine, photos, png, new_matcher, new_engine
):
    list(
        storing.import_sources(engine, "default", folder.find([photos]), batch=8, most_bytes=10**6)
    )
    old_web, old = site.serve()
    with Asking(old) as asked_old:
        put(old, "early", png("red"))

        def in_the_middle(done: int, total: int) -> None:
            if done < total and "meanwhile" not in scores_of(old):
                kill(of_shard(engine, 0))
                put(old, "meanwhile", png("blue"))
                asked_old.more()

        new_engine.reembed("default", in_the_middle, keep=True)
        asked_old.more()
        new = site.serve(matcher=new_matcher)[1]
        with Asking(new) as asked_new:
            put(new, "late", png("green"))
            kill(of_shard(new_engine, 1))
            asked_old.more()
            asked_new.more()
            refused = old.put("/items/lost", files={"image": png("white")})
            assert refused.status_code == 409
            assert refused.json()["type"] == "urn:tessera:problem:wrong-model"
    old_web.terminate()
    old_web.wait(STARTING)
    former, present = scores_by(engine), scores_by(new_engine)
    assert former.keys() == {f"photos/{number:02}.png" for number in range(40)} | {
        "early",
        "meanwhile",
    }
    assert present.keys() == former.keys() | {"late"}
    assert not any(near(former[item]) == present[item] for item in former), "none shows a mixture"
    check(asked_old.answers, former, former.keys() - {"early", "meanwhile"})
    check(asked_new.answers, present, former.keys())
    check(asked_old.answers[-1:], former, former.keys())
    check(asked_new.answers[-1:], present, present.keys())


def near(value: Any) -> Any:
    """Equal scores up to the order of sums."""
    return pytest.approx(value, rel=1e-3, abs=1e-7)


def check(answers: list[Scores], truth: Scores, acknowledged: Set[str]) -> None:
    """Fail unless answers hold all acknowledged items, by one matcher."""
    for answer in answers:
        assert acknowledged <= answer.keys()
        assert answer == near({item: truth[item] for item in answer})


def put(client: httpx.Client, item: str, photo: bytes) -> None:
    """Store a photo and find it at once."""
    assert client.put(f"/items/{item}", files={"image": photo}).status_code == 201
    assert item in scores_of(client)


def scores_of(client: httpx.Client) -> Scores:
    """The complete answer to a search of all photos."""
    body: dict[str, Any] = {"text": TEXT, "limit": 100}
    answer = client.post("/search/image", json=body).raise_for_status().json()
    assert answer["searched"]["complete"]
    return {hit["id"]: hit["score"] for hit in answer["hits"]}


def scores_by(engine: Engine) -> Scores:
    """One machine's answers."""
    request = Request("images", engine.models.query(TEXT), limit=100)
    hits = engine.search("default", request)[0].hits
    return {hit.item: hit.score for hit in hits}


def of_shard(engine: Engine, shard: int) -> int:
    """An actor's process for a shard and an engine's matcher."""
    from index.cluster.cluster import groups

    (group,) = (name for name in groups() if f"-{engine.models.fingerprint}-" in name)
    return actors(group)[f"{group}/{shard}/0"][0]
