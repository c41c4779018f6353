"""Connections to servers of shards, with a shared key.

Questions and answers are bytes.
A call through Ray takes about a millisecond of processor time, as long as the search of a
small shard. So Ray places and restarts the servers, and questions go to them directly.
"""

from __future__ import annotations

import copyreg
import io
import logging
import pickle
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from threading import BoundedSemaphore, Event, Thread
from typing import Any

import torch
from torch import Tensor

from index.database.errors import Busy


class _Packer(pickle.Pickler):
    dispatch_table = copyreg.dispatch_table | {
        Tensor: lambda tensor: (torch.from_numpy, (tensor.numpy(force=True),)),
    }


def pack(value: Any) -> bytes:
    """Pack a value as bytes."""
    file = io.BytesIO()
    _Packer(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def unpack(message: bytes) -> Any:
    """Unpack a message of one of our own processes."""
    return pickle.loads(message)  # noqa: S301


THREADS = 8  # questions that a server answers at the same time
STALLED = 5.0  # seconds after which a server closes a stalled connection
REPLIES = (ValueError, LookupError, Busy)  # failures that another server of the shard would give

Address = tuple[str, int]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failed:
    """An exception instead of an answer."""

    cause: Exception


class Listener:
    """Answers questions over connections with the key, until `close`."""

    def __init__(self, answer: Callable[[bytes], bytes], host: str, key: bytes) -> None:
        self._answer, self._key = answer, key
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, 0), family=family, backlog=128)
        self.address: Address = (host, self._socket.getsockname()[1])
        self._turns, self._closed = BoundedSemaphore(THREADS), Event()
        Thread(target=self._accept, name="shard-listener", daemon=True).start()

    def close(self) -> None:
        """Accept no more connections."""
        self._closed.set()
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._socket.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                accepted, _ = self._socket.accept()
            except OSError:  # closed, or too many files are open
                self._closed.wait(0.1)
                continue
            try:
                Thread(target=self._serve, args=(accepted,), daemon=True).start()
            except RuntimeError:  # there are too many threads
                accepted.close()

    def _serve(self, accepted: socket.socket) -> None:
        with _wrap(accepted, STALLED) as connection:
            try:
                deliver_challenge(connection, self._key)
                answer_challenge(connection, self._key)
                while connection.poll(None):
                    question = connection.recv_bytes()
                    with self._turns:
                        if connection.poll(0):  # nothing is sent before the answer
                            return  # so the other side has gone meanwhile
                        reply = self._reply(question)
                    connection.send_bytes(reply)
            except AuthenticationError:
                log.warning("a connection was refused: it has another key")
            except (EOFError, OSError):
                pass  # whoever asked has gone

    def _reply(self, question: bytes) -> bytes:
        try:
            return self._answer(question)
        except REPLIES as reply:
            return pack(Failed(reply))
        except Exception as failed:
            log.exception("a question failed")
            return pack(Failed(RuntimeError(repr(failed))))


def connect(address: Address, key: bytes, seconds: float) -> Connection:
    """Connect to a Listener, for one question at a time.

    Waits at most `seconds` for the other side to continue. Raises OSError if it does
    not, or if it has another key.
    """
    connection = _wrap(socket.create_connection(address, seconds), seconds)
    try:
        answer_challenge(connection, key)
        deliver_challenge(connection, key)
    except (AuthenticationError, EOFError, OSError) as failed:
        connection.close()
        raise OSError(f"no shard answers at {address[0]}:{address[1]}: {failed}") from failed
    return connection


def _wrap(connected: socket.socket, seconds: float) -> Connection:
    """Wrap a socket as a connection with a limit of `seconds`.

    Sends and reads wait no longer.
    """
    connected.setblocking(True)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))
    for direction in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connected.setsockopt(socket.SOL_SOCKET, direction, limit)
    return Connection(connected.detach())
