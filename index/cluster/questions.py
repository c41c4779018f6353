"""Rounds of questions to a server of each shard, or several.

Others are asked if it fails or is late.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any

from index.cluster.connections import REPLIES, Address, Failed, connect, unpack

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Server:
    """A server of a shard, and its idle connections.

    seconds: the longest pause within a message. up: whether it answered the last time.
    """

    shard: int
    name: str
    key: bytes = field(repr=False)
    seconds: float
    address: Address | None = None
    up: bool = False
    free: deque[Connection] = field(default_factory=deque)

    def reach(self, address: Address | None) -> bool:
        """Note its address; return whether it can be reached there."""
        if address != self.address:
            self.close()  # they are of a process that has ended
            self.address = address
        try:
            if address is not None and not self.free:
                self.free.append(connect(address, self.key, self.seconds))
        except OSError as failed:
            log.warning("shard %s cannot be reached: %s", self.name, failed)
            address = None
        self.up = address is not None
        return self.up

    def ask(self, question: bytes) -> tuple[Connection, bool]:
        """Send a question; return the connection for its answer, or raise OSError.

        Also returns whether the connection is an old one, which may have been cut.
        """
        while self.free:
            try:
                connection = self.free.pop()
                connection.send_bytes(question)
            except IndexError:  # another thread took the last one
                break
            except OSError:
                connection.close()
            else:
                return connection, True
        return self.ask_by_new_connection(question), False

    def ask_by_new_connection(self, question: bytes) -> Connection:
        """Send a question over a new connection; return it, or raise OSError."""
        if self.address is None:
            raise OSError("it has not said where it answers")
        connection = connect(self.address, self.key, self.seconds)
        try:
            connection.send_bytes(question)
        except OSError:
            connection.close()
            raise
        return connection

    def lose(self, failed: Exception) -> None:
        """Mark it as lost until it is reached again."""
        log.warning("shard %s does not answer: %s", self.name, str(failed) or type(failed).__name__)
        self.up = False
        self.close()

    def close(self) -> None:
        """Close the idle connections."""
        while self.free:
            try:
                self.free.pop().close()
            except IndexError:  # another thread took the last one
                return


class Round:
    """One question to all shards."""

    def __init__(self, servers: Sequence[Sequence[Server]], question: bytes) -> None:
        """`servers` are the ready ones of each shard, in asking order."""
        self.answers: dict[int, Any] = {}  # by shard
        self._first = [shard[0] if shard else None for shard in servers]
        self._others: list[Iterator[Server]] = [iter(shard) for shard in servers]
        self._question = question
        self._waiting: dict[Connection, Server] = {}
        self._asked: dict[Connection, float] = {}  # when, by the monotonic clock
        self._used: set[Connection] = set()  # those that were there before the question

    def ask(self, seconds: float, step: float) -> None:
        """Gather answers in time; ask other servers after steps without one.

        Raises the error with which a server refuses the question.
        """
        deadline = monotonic() + seconds
        try:
            self._send_to_all()
            self._gather(deadline, step)
            for connection, late in self._waiting.items():
                # One that was asked late, after others, has not had its time yet.
                had_time = monotonic() - self._asked[connection] >= step / 2
                if had_time and late.shard not in self.answers:
                    late.lose(TimeoutError("it takes too long"))
        finally:
            for connection in self._waiting:
                connection.close()

    def _gather(self, deadline: float, step: float) -> None:
        """Receive answers until all are there, or the deadline."""
        while self._waiting and len(self.answers) < len(self._others):
            remaining = max(0.0, deadline - monotonic())
            finished = wait([*self._waiting], min(remaining, step))
            for connection in finished:
                assert isinstance(connection, Connection)
                self._take(connection)
            if not finished and not remaining:
                return
            if not finished:
                self._send_again()

    def _send_to_all(self) -> None:
        """Ask the first server of each shard; open missing connections in parallel."""
        shards = range(len(self._first))
        new = [n for n in shards if (server := self._first[n]) and not server.free]
        for shard in shards:
            if shard not in new or len(new) == 1:
                self._send(shard)
        if len(new) > 1:  # a lost machine takes long, and others need not wait
            with ThreadPoolExecutor(len(new)) as pool:
                asked = [pool.submit(copy_context().run, self._send, shard) for shard in new]
            for call in asked:
                call.result()

    def _send(self, shard: int) -> None:
        """Ask the shard's next server, if there is one."""
        for server in self._others[shard]:
            try:
                connection, used = server.ask(self._question)
            except OSError as failed:
                server.lose(failed)
                continue
            self._wait_for(connection, server)
            if used:
                self._used.add(connection)
            return

    def _take(self, connection: Connection) -> None:
        """Receive an answer; if the server failed, ask another."""
        server = self._waiting.pop(connection)
        answer: Any
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError) as failed:
            connection.close()
            if connection in self._used and self._ask_again(server):
                return
            server.lose(failed)
            answer = Failed(failed)
        else:
            server.free.append(connection)
            answer = unpack(message)
        if server.shard in self.answers:
            return
        if not isinstance(answer, Failed):
            self.answers[server.shard] = answer
        elif isinstance(answer.cause, REPLIES):
            raise answer.cause
        else:
            log.error("shard %s failed: %s", server.name, answer.cause)
            self._send(server.shard)

    def _ask_again(self, server: Server) -> bool:
        """Ask a server again after a cut connection; return False for failure."""
        try:
            self._wait_for(server.ask_by_new_connection(self._question), server)
        except OSError:
            return False
        return True

    def _wait_for(self, connection: Connection, server: Server) -> None:
        """Note the connection of a server that was just asked."""
        self._waiting[connection], self._asked[connection] = server, monotonic()

    def _send_again(self) -> None:
        """Ask further servers of all shards without an answer."""
        for shard in {server.shard for server in self._waiting.values()} - self.answers.keys():
            self._send(shard)
