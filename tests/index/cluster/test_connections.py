"""Questions over connections, with a key and a time limit."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from threading import Barrier, Event, Semaphore
from time import monotonic

import pytest

from index.cluster.connections import THREADS, Failed, Listener, connect, unpack
from index.items import ModelMismatch

KEY = b"a key"


@contextmanager
def listening(answer: Callable[[bytes], bytes] = bytes.upper) -> Iterator[Listener]:
    """A listener on this machine."""
    with closing(Listener(answer, "127.0.0.1", KEY)) as listener:
        yield listener


@contextmanager
def silent() -> Iterator[tuple[str, int]]:
    """An address of connections without answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()


def test_questions_of_a_connection_are_answered_in_turn():
    large = b"x" * 1_000_000
    with listening() as listener, connect(listener.address, KEY, 5) as connection:
        for question in (b"a", b"", large):
            connection.send_bytes(question)
            assert connection.recv_bytes() == question.upper()


def test_as_many_are_answered_at_once_as_there_are_turns():
    together = Barrier(THREADS)

    def answer(question: bytes) -> bytes:
        together.wait(30)  # goes on once so many have come
        return question

    def ask(number: int) -> bytes:
        with connect(listener.address, KEY, 30) as connection:
            connection.send_bytes(b"%d" % number)
            return connection.recv_bytes()

    with listening(answer) as listener, ThreadPoolExecutor(THREADS) as threads:
        answers = list(threads.map(ask, range(THREADS)))
    assert answers == [b"%d" % number for number in range(THREADS)]


def test_who_has_gone_before_a_turn_came_is_not_answered():
    begun, go_on, asked = Semaphore(0), Event(), []

    def answer(question: bytes) -> bytes:
        asked.append(question)
        begun.release()
        go_on.wait(30)
        return question

    with listening(answer) as listener, ExitStack() as open_:
        for number in range(THREADS):
            connection = open_.enter_context(connect(listener.address, KEY, 30))
            connection.send_bytes(b"%d" % number)
            assert begun.acquire(timeout=30)
        with connect(listener.address, KEY, 30) as gone:
            gone.send_bytes(b"gone")
        last = open_.enter_context(connect(listener.address, KEY, 30))
        last.send_bytes(b"last")
        go_on.set()
        assert last.recv_bytes() == b"last"
    assert b"gone" not in asked


def test_who_has_another_key_is_refused():
    asked = []
    with listening(lambda question: asked.append(question) or b"") as listener:
        with pytest.raises(OSError, match="no shard answers at"):
            connect(listener.address, b"another", 5)
        with socket.create_connection(listener.address) as stranger:
            stranger.sendall(b"\0\0\0\5hello" * 3)
            stranger.settimeout(5)
            with suppress(ConnectionResetError):
                while stranger.recv(1000):
                    pass  # a challenge, and then it hangs up
        assert connect(listener.address, KEY, 5), "others are answered"
    assert asked == []


def test_a_refusal_comes_back_as_it_is_and_other_failures_by_name():
    def answer(question: bytes) -> bytes:
        raise ModelMismatch("why") if question == b"mistake" else ZeroDivisionError("ours")

    with listening(answer) as listener, connect(listener.address, KEY, 5) as connection:
        replies = []
        for question in (b"mistake", b"other"):
            connection.send_bytes(question)
            replies.append(unpack(connection.recv_bytes()))
    assert all(isinstance(reply, Failed) for reply in replies)
    refusal, failure = (reply.cause for reply in replies)
    assert (type(refusal), str(refusal)) == (ModelMismatch, "why")
    assert (type(failure), str(failure)) == (RuntimeError, "ZeroDivisionError('ours')")


def test_no_side_waits_long_for_a_silent_one():
    with silent() as address:
        began = monotonic()
        with pytest.raises(OSError, match="no shard answers"):
            connect(address, KEY, 0.2)
        assert monotonic() - began >= 0.2


def test_nothing_is_accepted_once_it_is_closed():
    with listening() as listener:
        address = listener.address
    with pytest.raises(OSError, match="refused"):
        connect(address, KEY, 5)
