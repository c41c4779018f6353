"""A client in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

SECONDS = 60.0


@contextmanager
def connect(address: str, path: str) -> Iterator[Callable[[dict[str, Any]], float]]:
    """Give a function for posting JSON; it returns the milliseconds."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_post_each, args=(theirs, address, path), daemon=True)
    process.start()
    theirs.close()

    def post(body: dict[str, Any]) -> float:
        ours.send(body)
        taken: float | str = ours.recv()
        if isinstance(taken, str):
            raise SystemExit(taken)
        return taken

    with ours:
        yield post
    process.join()


def _post_each(pipe: Connection, address: str, path: str) -> None:
    """Post bodies over one connection, until the pipe ends."""
    client = HTTPConnection(urlsplit(address).netloc, timeout=SECONDS)
    headers = {"Content-Type": "application/json"}
    with suppress(EOFError):
        while True:
            body = json.dumps(pipe.recv()).encode()
            begun = perf_counter()
            client.request("POST", path, body, headers)
            answer = client.getresponse()
            content = answer.read()
            taken = 1_000 * (perf_counter() - begun)
            pipe.send(taken if answer.status == 200 else f"{answer.status}: {content[:500]!r}")
