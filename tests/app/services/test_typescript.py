"""The TypeScript client: present types, at work in Node and in Chromium."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tessera_client import Client

from app.engine.engine import Engine
from app.http.server import OPTIONS
from app.main import create_app
from app.settings import Settings
from tests.processes.listening import listen

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]  # npm may have to install first
ROOT = Path(__file__).parent.parent.parent.parent
CLIENT = ROOT / "client-ts"
OLDEST_NODE = (20, 19)
KEY = "0123456789" * 4
COLOURS = ("red", "lime", "blue", "white", "black")
BLANK = "<!doctype html><title>blank</title>"
USE = """async (photo) => {
    const { Client, TesseraError } = await import("/client-ts/index.js");
    const client = new Client("");
    const image = new Blob([Uint8Array.from(atob(photo), (letter) => letter.charCodeAt(0))]);
    const statuses = [];
    for await (const status of client.upload([{ id: "a", image }])) statuses.push(status.status);
    await client.putItem("b/c", { image, sentences: ["a red wall"] });
    const ids = [];
    for await (const hit of client.imageHits({ text: "red", limit: 1 })) ids.push(hit.id);
    const kinds = [];
    for (const address of ["", "/moved", "http://127.0.0.1:9"]) {
        const error = await new Client(address).getItem("nothing").catch((failure) => failure);
        kinds.push(error instanceof TesseraError ? error.kind : String(error));
    }
    return [statuses, ids, kinds];
}"""


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder of the client, with its tools and its built files."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip("no Node here: install node and npm")
    version = run(node, "--version").removeprefix("v").split(".")
    if tuple(map(int, version[:2])) < OLDEST_NODE:
        pytest.skip(f"Node {'.'.join(version)} is too old for the client's tools")
    lock, installed = CLIENT / "package-lock.json", CLIENT / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        run("npm", "ci", "--no-audit", "--no-fund")
    run("npm", "run", "build")
    return CLIENT


@pytest.fixture
def guarded(settings: Settings, engine: Engine) -> Iterator[str]:
    """The address of a service with a key."""
    settings = settings.model_copy(update={"admin_key": SecretStr(KEY)})
    with listen(create_app(settings, engine), **OPTIONS) as address:
        yield address


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own commands
        command,
        cwd=CLIENT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_the_types_are_what_make_client_ts_writes(built: Path) -> None:
    made = runpy.run_path(str(built / "make_types.py"))["write_source"]()
    written = (built / "src" / "types.gen.ts").read_text("utf-8")
    assert made == written, "the API changed: run `make client-ts`"


def test_the_client_works_in_node(
    built: Path, guarded: str, png: Callable[..., bytes], tmp_path: Path
) -> None:
    for colours in [*((colour,) for colour in COLOURS), ("red", "lime"), ("red", "blue")]:
        (tmp_path / f"{'-'.join(colours)}.png").write_bytes(png(*colours))
    environment = {"TESSERA_URL": guarded, "TESSERA_KEY": KEY, "TESSERA_PHOTOS": str(tmp_path)}
    told = run("npm", "run", "test:built", **environment)
    assert "# fail 0" in told
    assert "# skipped 0" in told


def test_the_client_works_in_a_browser(
    built: Path, browser: Any, address: str, png: Callable[..., bytes]
) -> None:
    page = browser.new_page(base_url=address)
    page.route("**/blank", lambda route: route.fulfill(content_type="text/html", body=BLANK))
    page.route("**/client-ts/*", lambda route: route.fulfill(path=built / "dist" / name_of(route)))
    moved = {"Location": "/items/a"}
    page.route("**/moved/**", lambda route: route.fulfill(status=302, headers=moved))
    page.goto("/blank")
    statuses, ids, kinds = page.evaluate(USE, b64encode(png("red")).decode())
    assert statuses == ["stored"]
    assert sorted(ids) == ["a", "b/c"]
    # A browser does not say whether a request was sent.
    assert kinds == ["not-found", "foreign-answer", "no-answer"]
    page.close()


def name_of(route: Any) -> str:
    return str(route.request.url).rpartition("/")[2]


def test_the_package_is_the_built_client_without_dependencies(built: Path) -> None:
    packed = json.loads(run("npm", "pack", "--dry-run", "--json", "--ignore-scripts"))[0]
    described = json.loads((built / "package.json").read_text("utf-8"))
    assert described.keys().isdisjoint({"dependencies", "peerDependencies"})
    names = {file["path"] for file in packed["files"]}
    assert {"dist/index.js", "dist/index.d.ts", "README.md", "package.json"} <= names
    assert {name for name in names if not name.startswith("dist/")} == {"README.md", "package.json"}
    imports = "".join(file.read_text("utf-8") for file in (built / "dist").glob("*.js"))
    assert set(re.findall(r'from "([^"]*)"', imports)) <= {f"./{name[5:]}" for name in names}


def test_the_python_client_and_this_one_have_the_same_methods(built: Path) -> None:
    sources = "".join(
        (built / "src" / name).read_text("utf-8") for name in ("client.ts", "searches.ts")
    )
    methods = set(re.findall(r"^  (?:async )?\*?(\w+)\(", sources, re.MULTILINE))
    python = {name for name in dir(Client) if not name.startswith("_")} - {
        "close",
        "products",
        "send",
    }
    assert {re.sub(r"_(\w)", lambda letter: letter[1].upper(), name) for name in python} <= methods
