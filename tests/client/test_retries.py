"""Retries: a call ends within its timeout, a refused connection sooner."""

from __future__ import annotations

import asyncio
import time
from socket import socket
from typing import Any

import httpx2
import pytest
from tessera_client import AsyncClient, Client, TesseraError, retries

REFUSED = httpx2.ConnectError("Connection refused")


class Clock:
    """A clock of listed pauses alone."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def now(self) -> float:
        return sum(self.pauses)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(retries, "read_clock", clock.now)
    monkeypatch.setitem(retries.RETRIES, "sleep", clock.pauses.append)
    return clock


def ask(answer: httpx2.Response | Exception, times: list[Any], **options: float) -> None:
    """Ask for collections; the time-outs of attempts are listed."""

    def respond(request: httpx2.Request) -> httpx2.Response:
        times.append(request.extensions["timeout"])
        if isinstance(answer, Exception):
            raise answer
        return answer

    client = Client("http://test", **options)
    client._http = httpx2.Client(base_url="http://test", transport=httpx2.MockTransport(respond))
    with pytest.raises(TesseraError), client:
        client.collections()


def test_a_refused_connection_is_tried_for_a_minute(clock: Clock) -> None:
    times: list[Any] = []
    ask(REFUSED, times)
    assert clock.pauses == [0.5, 1, 2, 4, 8, 16, 28.5]
    assert times[-1]["read"] == 60


def test_a_service_that_starts_again_is_awaited(clock: Clock) -> None:
    def respond(_: httpx2.Request) -> httpx2.Response:
        if clock.now() < 15:
            raise REFUSED
        return httpx2.Response(200, json={"collections": []})

    with Client("http://test", timeout=20) as client:
        transport = httpx2.MockTransport(respond)
        client._http = httpx2.Client(base_url="http://test", transport=transport)
        assert client.collections().collections == []
    assert clock.pauses == [0.5, 1, 2, 4, 8]


def test_a_shorter_timeout_bounds_the_tries(clock: Clock) -> None:
    times: list[Any] = []
    ask(REFUSED, times, timeout=5)
    assert clock.pauses == [0.5, 1, 2, 1]
    assert times[-1]["read"] == 0.5


def test_a_busy_service_is_asked_within_the_timeout(clock: Clock) -> None:
    times: list[Any] = []
    ask(httpx2.Response(503, headers={"Retry-After": "2"}), times, timeout=5)
    assert clock.pauses == [2, 2]
    assert [attempt["read"] for attempt in times] == [5, 3, 1]


def test_a_connection_takes_ten_seconds_at_most(clock: Clock) -> None:
    times: list[Any] = []
    ask(httpx2.Response(500), times)
    assert times == [{"connect": 10, "read": 120, "write": 120, "pool": 120}]


def test_the_client_of_another_collection_has_the_same_timeout(clock: Clock) -> None:
    assert Client("http://test", timeout=7).on("shop")._timeout == 7
    assert AsyncClient("http://test", timeout=7).on("shop")._timeout == 7


def test_both_clients_leave_an_address_without_a_listener_in_time() -> None:
    async def wait(address: str) -> None:
        async with AsyncClient(address, timeout=1.2) as client:
            await client.collections()

    with socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address, start = f"http://127.0.0.1:{taken.getsockname()[1]}", time.monotonic()
        with pytest.raises(TesseraError) as refused, Client(address, timeout=1.2) as client:
            client.collections()
        assert refused.value.kind == "unreachable"
        with pytest.raises(TesseraError):
            asyncio.run(wait(address))
    assert time.monotonic() - start < 10  # of 61 seconds each without a bound


@pytest.mark.parametrize("make", [Client, AsyncClient])
@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), None, "2"])
def test_a_timeout_that_is_no_time_is_refused(make: Any, timeout: Any) -> None:
    with pytest.raises(ValueError, match=f"timeout is a positive number of seconds.*{timeout}"):
        make("http://test", timeout=timeout)
