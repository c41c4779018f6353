"""A local hub of models for tests, as huggingface_hub asks it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.outside.serving import QuietHandler, serve

MAIN = "main"


@dataclass
class Hub:
    """Repositories as folders by their names, and asked paths."""

    address: str = ""
    repositories: dict[str, Path] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def commit(self, name: str) -> str:
        """The only commit of a repository, by its files' names and sizes."""
        files = sorted((path.name, path.stat().st_size) for path in self.files(name))
        return hashlib.sha1(json.dumps([name, files]).encode(), usedforsecurity=False).hexdigest()

    def files(self, name: str) -> list[Path]:
        """The files of a repository."""
        return sorted(path for path in self.repositories[name].iterdir() if path.is_file())

    def fetched(self) -> set[str]:
        """The names of fetched files."""
        resolved = [path for path in self.asked if "/resolve/" in path and path.startswith("GET")]
        return {path.rpartition("/")[2] for path in resolved}


class HubHandler(QuietHandler):
    """Answers the questions of huggingface_hub about a model's repository."""

    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_HEAD(self) -> None:
        """Answer without a body."""
        self.do_GET()

    def do_GET(self) -> None:
        """Describe a repository, list its files, or give one."""
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        _, *parts = path.split("/")
        about = parts[:2] == ["api", "models"]
        owner, name, *remainder = parts[2:] if about else parts
        repository = f"{owner}/{name}"
        if not self.refuse(repository, remainder):
            if about:
                self.describe(repository, tree=remainder[:1] == ["tree"])
            else:
                self.give(repository, self.hub.repositories[repository] / remainder[-1])

    def refuse(self, name: str, remainder: list[str]) -> bool:
        """Refuse absent and gated repositories, as the hub does."""
        if name not in self.hub.repositories:
            return self.answer(404, {"X-Error-Code": "RepoNotFound"})
        if name in self.hub.gated:
            return self.answer(403, {"X-Error-Code": "GatedRepo"})
        if len(remainder) > 1 and remainder[1] not in (MAIN, self.hub.commit(name)):
            return self.answer(404, {"X-Error-Code": "RevisionNotFound"})
        return False

    def describe(self, name: str, *, tree: bool) -> None:
        """Describe a repository, or list its files."""
        listed = [
            {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": "0" * 40}
            for file in self.hub.files(name)
        ]
        siblings = [{"rfilename": file["path"]} for file in listed]
        about = {"id": name, "modelId": name, "sha": self.hub.commit(name), "siblings": siblings}
        self.answer(200, {}, json.dumps(listed if tree else about).encode())

    def give(self, name: str, file: Path) -> None:
        """Give a file."""
        if not file.is_file():
            self.answer(404, {"X-Error-Code": "EntryNotFound"})
            return
        contents = file.read_bytes()
        etag = hashlib.sha256(contents).hexdigest()
        self.answer(200, {"ETag": f'"{etag}"', "X-Repo-Commit": self.hub.commit(name)}, contents)

    def answer(self, status: int, headers: dict[str, str], body: bytes = b"{}") -> bool:
        """Send an answer; True, as it is one."""
        self.send_response(status)
        sizes = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for key, value in (headers | sizes).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
        return True


@contextmanager
def serve_hub(**repositories: Path) -> Iterator[Hub]:
    """Serve folders as repositories `OWNER__NAME` at an address of this machine."""
    named = {name.replace("__", "/"): folder for name, folder in repositories.items()}
    hub = Hub(repositories=named)
    handler = type("Handler", (HubHandler,), {"hub": hub})
    with serve(handler) as hub.address:
        yield hub
