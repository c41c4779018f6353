"""A Ray cluster of two nodes, and a site on it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.engine.engine import Engine
from tests.processes.clusters import running
from tests.processes.sites import COLOURS, Site


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    pytest.importorskip("ray")
    with running(2, cpus=1) as started:
        yield started


@pytest.fixture
def site(nodes, postgresql, tmp_path, small_matcher) -> Iterator[Site]:
    with postgresql.database() as url:
        made = Site(tmp_path, url, small_matcher, nodes.address)
        yield made
        made.end()
        _remove_actors()


@pytest.fixture
def engine(site) -> Iterator[Engine]:
    """One machine's engine on the site's database."""
    made = Engine.load(site.settings)
    yield made
    made.close()


@pytest.fixture
def photos(tmp_path, png) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(40):
        colours = random.Random(number).sample(COLOURS, 3)
        (folder / f"{number:02}.png").write_bytes(png(*colours, size=(90, 60)))
    (folder / "broken.png").write_bytes(b"no photo")
    return folder


def _remove_actors() -> None:
    """Give back the processors of a site's actors."""
    from index.cluster.cluster import groups, remove

    for group in groups():
        remove(group)
