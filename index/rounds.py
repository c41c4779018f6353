"""Rounds: one question to a server of each shard, and to others where that fails or is late."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any

from index.connections import REPLIES, Address, Failed, connect
from index.messages import unpacked

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Server:
    """A server of a shard, and the connections to it that no question uses.

    seconds: how long it may take to go on with a message. up: whether it answered the last time.
    """

    shard: int
    name: str
    key: bytes
    seconds: float
    address: Address | None = None
    up: bool = False
    free: deque[Connection] = field(default_factory=deque)

    def reach(self, address: Address | None) -> bool:
        """Note where it answers; whether it can be reached there."""
        if address != self.address:
            self.close()  # they lead to a process that has ended
            self.address = address
        try:
            if address is not None and not self.free:
                self.free.append(connect(address, self.key, self.seconds))
        except OSError as failed:
            log.warning("shard %s cannot be reached: %s", self.name, failed)
            address = None
        self.up = address is not None
        return self.up

    def ask(self, question: bytes) -> Connection:
        """Send a question; gives the connection by which its answer comes, or raises OSError."""
        try:
            connection = self.free.pop()
        except IndexError:
            if self.address is None:
                raise OSError("it has not said where it answers") from None
            connection = connect(self.address, self.key, self.seconds)
        try:
            connection.send_bytes(question)
        except OSError:
            connection.close()
            raise
        return connection

    def lose(self, failed: Exception) -> None:
        """Ask it no more until it is reached again."""
        log.warning("shard %s does not answer: %s", self.name, failed or type(failed).__name__)
        self.up = False
        self.close()

    def close(self) -> None:
        """Close the connections that no question uses."""
        while self.free:
            self.free.pop().close()


class Round:
    """One question to all shards."""

    def __init__(self, servers: Sequence[Sequence[Server]], question: bytes) -> None:
        """`servers` are those of each shard that may be asked, the first one first."""
        self.answers: dict[int, Any] = {}  # by shard
        self._others: list[Iterator[Server]] = [iter(shard) for shard in servers]
        self._question = question
        self._waiting: dict[Connection, Server] = {}

    def ask(self, seconds: float, step: float) -> None:
        """Gather answers for so many seconds; after each step without one, ask others as well.

        Raises what a server refuses the question by.
        """
        deadline = monotonic() + seconds
        try:
            for shard in range(len(self._others)):
                self._send(shard)
            while self._waiting and len(self.answers) < len(self._others):
                remaining = max(0.0, deadline - monotonic())
                finished = wait([*self._waiting], min(remaining, step))
                for connection in finished:
                    assert isinstance(connection, Connection)
                    self._take(connection)
                if not finished and not remaining:
                    break
                if not finished:
                    self._send_again()
        finally:
            for connection, late in self._waiting.items():
                connection.close()
                if late.shard not in self.answers:
                    late.lose(TimeoutError("it takes too long"))

    def _send(self, shard: int) -> None:
        """Ask the shard's next server, if there is one."""
        for server in self._others[shard]:
            try:
                self._waiting[server.ask(self._question)] = server
            except OSError as failed:
                server.lose(failed)
            else:
                return

    def _take(self, connection: Connection) -> None:
        """Take an answer in; one of a server that failed is asked of another."""
        server = self._waiting.pop(connection)
        answer: Any
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError) as failed:
            connection.close()
            server.lose(failed)
            answer = Failed(failed)
        else:
            server.free.append(connection)
            answer = unpacked(message)
        if server.shard in self.answers:
            return
        if not isinstance(answer, Failed):
            self.answers[server.shard] = answer
        elif isinstance(answer.cause, REPLIES):
            raise answer.cause
        else:
            log.error("shard %s failed: %s", server.name, answer.cause)
            self._send(server.shard)

    def _send_again(self) -> None:
        """Ask further servers of all shards that are waited for."""
        for shard in {server.shard for server in self._waiting.values()} - self.answers.keys():
            self._send(shard)
