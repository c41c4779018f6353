"""Rounds of questions: one answer a shard, despite failures."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection
from threading import Barrier, Event
from typing import Any

import pytest

from index.cluster import questions as rounds
from index.cluster.connections import Listener, connect, pack, unpack
from index.cluster.questions import Round, Server

KEY = b"a key"
LONG = 30.0  # seconds, of a machine that does other work too
Answer = Callable[[Any], Any]


@pytest.fixture
def server() -> Iterator[Callable[..., Server]]:
    """Servers by their answers, all of them in reach."""
    with ExitStack() as open_:

        def make(shard: int, answer: Answer) -> Server:
            listener = Listener(lambda q: pack(answer(unpack(q))), "127.0.0.1", KEY)
            open_.enter_context(closing(listener))
            made = Server(shard, f"shard {shard}", KEY, LONG)
            open_.callback(made.close)
            assert made.reach(listener.address)
            return made

        yield make


def asked(servers: list[list[Server]], seconds: float = LONG, step: float = LONG) -> Any:
    """The answers to a question, by shard."""
    round_ = Round(servers, pack("q"))
    round_.ask(seconds, step)
    return round_.answers


def fails(_question: object) -> None:
    raise ZeroDivisionError


def refuses(_question: object) -> None:
    raise LookupError("no such thing")


def test_the_first_server_of_each_shard_answers(server):
    shards = [[server(n, lambda q, n=n: (q, n)), server(n, fails)] for n in range(3)]
    for _ in range(2):
        assert asked(shards) == {n: ("q", n) for n in range(3)}
        assert [len(first.free) for first, _ in shards] == [1, 1, 1], "connections are used again"


def test_another_server_is_asked_where_one_fails(server):
    first, second = server(0, fails), server(0, lambda _: "b")
    assert asked([[first, second]]) == {0: "b"}
    assert first.up, "it is there, and may answer the next question"


def test_another_server_is_asked_where_one_has_ended(server):
    first, second = server(0, lambda _: "a"), server(0, lambda _: "b")
    first.free[0].close()  # as if its process had
    address, first.address = first.address, ("127.0.0.1", 1)
    assert asked([[first, second]]) == {0: "b"}
    assert (first.up, second.up) == (False, True)
    assert first.reach(address)
    assert asked([[first, second]]) == {0: "a"}


def test_another_server_is_asked_where_one_is_late(server):
    done = Event()
    first, second = server(0, lambda _: done.wait(LONG)), server(0, lambda _: "b")
    assert asked([[first, second]], step=0.1) == {0: "b"}
    done.set()
    assert not first.free, "the late answer is of no question"


def test_a_shard_without_an_answer_in_time_is_left_out(server):
    done = Event()
    late, other = server(0, lambda _: done.wait(LONG)), server(1, lambda _: "b")
    assert asked([[late], [other]], seconds=0.3, step=0.1) == {1: "b"}
    assert (late.up, other.up) == (False, True)
    done.set()
    assert asked([[], [other]]) == {1: "b"}


def test_another_server_is_asked_where_one_cannot_be_reached(server):
    away = Server(0, "shard 0", KEY, 0.2, address=("127.0.0.1", 1))
    assert asked([[away, server(0, lambda _: "a")]]) == {0: "a"}
    assert not away.up


def test_connections_to_all_shards_are_made_at_once(server, monkeypatch):
    shards = [[server(n, lambda _, n=n: n)] for n in range(3)]
    for (first,) in shards:
        first.close()  # the connections that no question uses
    together = Barrier(len(shards))

    def connect_together(*arguments: Any) -> Connection:
        together.wait(LONG)
        return connect(*arguments)

    monkeypatch.setattr(rounds, "connect", connect_together)
    assert asked(shards) == {n: n for n in range(3)}
    assert all(first.up for (first,) in shards)


def test_a_refusal_of_any_shard_is_raised(server):
    answered = Event()
    late = server(0, lambda _: answered.wait(LONG))
    with pytest.raises(LookupError, match="no such thing"):
        asked([[late], [server(1, refuses)]])
    assert late.up, "one that was not waited for is as good as before"
    answered.set()


def test_a_server_that_was_asked_late_is_not_taken_for_lost(server):
    answered = Event()
    first, second = (server(0, lambda _: answered.wait(LONG)) for _ in range(2))
    assert asked([[first, second]], seconds=1.5, step=1.2) == {}
    assert (first.up, second.up) == (False, True)
    answered.set()


def test_a_connection_that_was_cut_meanwhile_is_made_again(server):
    only = server(0, lambda _: "a")
    (connection,) = only.free
    cut = socket.socket(fileno=os.dup(connection.fileno()))
    cut.shutdown(socket.SHUT_RDWR)
    cut.close()
    assert asked([[only]]) == {0: "a"}
    assert only.up


def test_what_is_logged_of_a_server_does_not_tell_its_key(server):
    assert repr(KEY) not in repr(server(0, refuses))
