"""A proxy for a service below a path of its host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

from tests.outside.serving import QuietHandler, serve

HOP = {"connection", "transfer-encoding", "content-length", "server", "date"}


@contextmanager
def cut_off(prefix: str, service: str) -> Iterator[str]:
    """The address of a proxy for a service, with the prefix.

    It cuts the prefix off, as nginx does for `location PREFIX/ { proxy_pass http://service/; }`.
    """
    host = service.removeprefix("http://")

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            upstream = HTTPConnection(host, timeout=30)
            if self.path.startswith(f"{prefix}/"):
                upstream.request(
                    self.command, self.path.removeprefix(prefix), body, dict(self.headers)
                )
                answer = upstream.getresponse()
                self.answer(answer.status, answer.getheaders(), answer.read())
            else:
                self.answer(404, [], b"the shop's own page")
            upstream.close()

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = forward

        def answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serve(Handler) as address:
        yield address + prefix
