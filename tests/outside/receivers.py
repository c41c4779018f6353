"""A receiver of webhooks on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Queue
from typing import Any

from standardwebhooks import Webhook

from tests.outside.serving import QuietHandler, serve


@dataclass(slots=True)
class Receiver:
    """Deliveries, answered with the statuses in turn, then with 204."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)  # of answers
    came: Queue[tuple[dict[str, str], bytes]] = field(default_factory=Queue)

    def take(self, secret: str, seconds: float = 60) -> tuple[str, dict[str, Any]]:
        """The id and the content of the next delivery, its signature verified."""
        headers, body = self.came.get(timeout=seconds)
        content: dict[str, Any] = Webhook(secret).verify(body, headers)
        return headers["webhook-id"], content


@contextmanager
def receive(path: str = "/hook") -> Iterator[Receiver]:
    """A receiver on a free port."""
    receiver = Receiver()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.came.put(({key.lower(): of for key, of in self.headers.items()}, body))
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

    with serve(Handler) as address:
        receiver.url = address + path
        yield receiver
