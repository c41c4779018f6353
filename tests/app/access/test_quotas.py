"""Callers have limits of rate and of requests at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from app.access.key_file import add_key
from app.access.keys import make_key
from app.access.quotas import Quotas
from app.engine.engine import Engine
from app.http.errors import TooManyRequests
from app.main import create_app
from app.roles import Role
from app.settings import Settings

Png = Callable[..., bytes]


def test_a_key_has_so_many_requests_in_a_while_and_others_have_theirs(
    settings: Settings, client: TestClient
) -> None:
    slow, key = make_key("slow", Role.READ, rate_limit="3/hour")
    add_key(settings.keys_file, key)
    other, key = make_key("other", Role.READ)
    add_key(settings.keys_file, key)
    statuses = [client.get("/items", headers={"x-api-key": slow}).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    refused = client.get("/items", headers={"x-api-key": slow})
    assert 1 <= int(refused.headers["retry-after"]) <= 2 * 3600
    assert refused.json()["type"] == "urn:tessera:problem:too-many-requests"
    assert refused.json()["detail"] == "the key 'slow' may send 3/hour"
    assert client.get("/items", headers={"x-api-key": other}).status_code == 200


def test_what_a_role_refuses_counts_as_well(settings: Settings, client: TestClient) -> None:
    reader, key = make_key("reader", Role.READ, rate_limit="2/hour")
    add_key(settings.keys_file, key)
    asked = {"headers": {"x-api-key": reader}}
    statuses = [client.delete("/items/a", **asked).status_code for _ in range(3)]
    assert statuses == [403, 403, 429]
    typist, key = make_key("typist", Role.READ, rate_limit="2/hour")
    add_key(settings.keys_file, key)
    asked = {"headers": {"x-api-key": typist}}
    assert [client.get("/items?limt=1", **asked).status_code for _ in range(3)] == [422, 422, 429]


def test_addresses_have_the_limit_where_there_are_no_keys(
    settings: Settings, engine: Engine
) -> None:
    app = create_app(settings.model_copy(update={"rate_limit": "2/hour"}), engine)
    with (
        TestClient(app, client=("10.0.0.1", 1)) as one,
        TestClient(app, client=("10.0.0.2", 1)) as two,
    ):
        assert [one.get("/items").status_code for _ in range(3)] == [200, 200, 429]
        assert two.get("/items").status_code == 200
        assert one.get("/readyz").status_code == 200, "health is not counted"


def test_a_caller_has_so_many_requests_at_once() -> None:
    quotas = Quotas()
    with quotas.request("anna", None, 2), quotas.request("anna", None, 2):
        with pytest.raises(TooManyRequests, match="anna has 2 requests running"):
            quotas.request("anna", None, 2).__enter__()
        with quotas.request("ben", None, 2):
            pass
    with quotas.request("anna", None, 2):
        pass


def test_a_request_that_is_refused_uses_up_no_rate() -> None:
    quotas = Quotas()
    with quotas.request("anna", "2/hour", 1):
        for _ in range(5):
            with pytest.raises(TooManyRequests, match="running"):
                quotas.request("anna", "2/hour", 1).__enter__()
    with quotas.request("anna", "2/hour", 1):
        pass


def test_a_request_runs_until_its_answer_is_sent(
    settings: Settings, engine: Engine, png: Png
) -> None:
    app = create_app(settings.model_copy(update={"concurrency_limit": 1}), engine)
    with TestClient(app) as client:
        for _ in range(3):  # each of them ends, also those that fail
            assert client.get("/items").status_code == 200
            assert client.get("/items/none").status_code == 404
