"""Services on a real Ray cluster under kills of processes."""

from __future__ import annotations

import time
from typing import Any

import httpx2 as httpx
import pytest

from app.engine.engine import Engine
from tests.processes.clusters import actors, kill
from tests.processes.sites import COLOURS, STARTING

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def test_services_of_a_cluster_answer_as_one_machine_and_for_each_other(site, engine):
    texts = [f"{one} {other}" for one in COLOURS for other in COLOURS]
    first, client = site.serve()
    for number, text in enumerate(texts):
        body = {"sentences": [text], "metadata": {"n": number % 3}}
        assert client.put(f"/items/{number}", json=body).status_code == 201
    ready = client.get("/readyz").json()
    assert (ready["status"], ready["shards"]) == ("ready", "2 of 2")
    asked = {"text": "red blue", "limit": 7, "filter": {"n": [0, 2]}}
    expected = engine_answers(engine, asked)
    assert pages(client, asked) == expected
    other = site.serve()[1]
    from index.cluster.cluster import groups

    (group,) = groups()  # both use the same actors
    kill(first.pid)
    assert pages(other, asked) == expected, "what was acknowledged is found by the other"
    placed = actors(group)
    for name, (process, _) in placed.items():
        if "/0/" in name:
            kill(process)
    began, incomplete = time.monotonic(), 0
    while True:
        answer = other.post("/search/text", json=asked).raise_for_status().json()
        if not answer["searched"]["complete"]:
            incomplete += 1
            assert answer["searched"]["coverage"] == 0.5
        elif incomplete or time.monotonic() - began > 5:
            break
        assert time.monotonic() - began < STARTING
    assert incomplete
    assert pages(other, asked) == expected


def pages(client: httpx.Client, asked: dict[str, Any]) -> list[tuple[str, float]]:
    """All pages of a search: ids and scores."""
    found: list[tuple[str, float]] = []
    cursor = None
    while True:
        answer = client.post("/search/text", json=asked | {"cursor": cursor}).raise_for_status()
        page = answer.json()
        assert page["searched"]["complete"]
        found += [(hit["id"], round(hit["score"], 4)) for hit in page["hits"]]
        if (cursor := page["cursor"]) is None:
            return found


def engine_answers(engine: Engine, asked: dict[str, Any]) -> list[tuple[str, float]]:
    """One machine's answers."""
    from index.search.requests import Request

    query = engine.models.query(asked["text"])
    request = Request("sentences", query, limit=100, where=asked["filter"])
    hits = engine.search("default", request)[0].hits
    return [(hit.item, round(hit.score, 4)) for hit in hits]
