"""A service with few files still answers when many hold connections."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.cli.listening import FILES, fit_connections
from app.http.server import options
from app.settings import Settings
from tests.processes.hosts import Host

FEW = 96


@pytest.mark.parametrize(
    ("allowed", "connections"), [(FEW, 24), (1024, 256), (FILES + 500, 500), (FILES + 1000, 1000)]
)
def test_connections_leave_files_for_what_answers_them(
    monkeypatch: pytest.MonkeyPatch, allowed: int, connections: int
) -> None:
    limit, set_to = (allowed // 2, allowed), []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limit)
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: set_to.append(pair))
    fitting = fit_connections(Settings(connections=1000))
    assert fitting.connections == connections
    assert set_to == [(allowed, allowed)]
    # All that are accepted before the first is looked at fit, too.
    assert options(fitting)["backlog"] + connections < allowed


@pytest.fixture
def host(tmp_path: Path, small_matcher: Path) -> Iterator[Host]:
    """A service with a low limit of open files."""
    started = Host(tmp_path, "", small_matcher, "")
    resource.prlimit(started.process.pid, resource.RLIMIT_NOFILE, (FEW, FEW))
    try:
        yield started.wait()
    finally:
        started.kill()


@pytest.mark.system
def test_idle_connections_beyond_the_limit_leave_files_to_answer_with(host: Host) -> None:
    with ExitStack() as held:
        for _ in range(2 * FEW):
            held.enter_context(socket.create_connection(("127.0.0.1", host.port), timeout=30))
        # The same address holds the rest, so it may be told to wait, at once.
        assert host.client.get("/livez").status_code in (200, 429)
        opened = list(Path(f"/proc/{host.process.pid}/fd").iterdir())
        assert len(opened) < FEW
