"""Agents search over /mcp by the official client, with proofs."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from anyio import run
from fastapi import FastAPI
from PIL import Image
from starlette.testclient import TestClient

from app.access.key_file import add_key
from app.access.keys import make_key
from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.http.server import OPTIONS
from app.main import create_app
from app.roles import Role
from app.settings import Settings
from tests.processes.listening import listen
from tests.stored_items import put

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

Png = Callable[..., bytes]
post = partial(httpx2.post, timeout=None)  # machines are shared
READING = [
    *("list_collections", "search_photos", "search_sentences", "search_products"),
    *("find_regions", "explain_hit", "describe_photo", "get_item"),
]
WRITING = ["add_item", "tag_item", "delete_item"]


@pytest.fixture
def engine(describing: Engine, png: Png) -> Engine:
    colours = {"red": ["red"], "lime": ["lime"], "both": ["red", "blue"]}
    drafts = [
        Draft(name, {"title": f"a {name} card", "text": "x" * 700}, sentences=(f"it is {name}",))
        for name in colours
    ]
    photos = [png(*names) for names in colours.values()]
    drafts = [draft.with_photo(photo) for draft, photo in zip(drafts, photos, strict=True)]
    put(describing, "default", drafts)
    return describing


@asynccontextmanager
async def connect(address: str, key: str = "", mode: str = "auto") -> AsyncIterator[Client]:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, timeout=None) as http:
        transport = streamable_http_client(f"{address}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def send(address: str, method: str, params: dict[str, Any], key: str = "") -> Any:
    """The answer to a message without a session."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return post(f"{address}/mcp", json=message, headers=headers)


def call(address: str, tool: str, arguments: dict[str, Any], key: str = "") -> Any:
    """The answer of a tool: fields and pictures, or the mistake."""
    from mcp_types import CallToolResult

    sent = send(address, "tools/call", {"name": tool, "arguments": arguments}, key)
    return read(CallToolResult.model_validate(sent.json()["result"]))


def read(answer: CallToolResult) -> Any:
    text, *pictures = answer.content
    if answer.is_error:
        return text.text
    return json.loads(text.text) | {"files": [open_picture(each) for each in pictures]}


def open_picture(content: Any) -> Image.Image:
    assert content.mime_type == "image/webp"
    return Image.open(BytesIO(base64.b64decode(content.data)))


def list_tools(address: str, key: str = "", mode: str = "auto") -> list[str]:
    async def ask() -> list[str]:
        async with connect(address, key, mode) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    return run(ask)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_are_listed_without_those_that_write(address: str, mode: str) -> None:
    assert list_tools(address, mode=mode) == READING


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_search_proves_its_hits_and_shows_them(address: str, mode: str) -> None:
    async def search() -> Any:
        async with connect(address, mode=mode) as client:
            asked = {"text": "red, then blue", "pictures": 2}
            return read(await client.call_tool("search_photos", asked))

    answer = run(search)
    best = answer["hits"][0]
    assert best["id"] == "both"
    assert sum(part["gave"] for part in best["proof"]) == pytest.approx(best["score"], abs=1e-3)
    assert [part["words"] for part in best["proof"] if "words" in part] == ["red", "then blue"]
    assert best["proof"][0]["box"] == [0, 0, 0.5, 0.5]
    assert best["metadata"] == {"title": "a both card"}
    assert best["left_out"] == ["text"]
    assert answer["pictures"] == [hit["id"] for hit in answer["hits"][:2]]
    assert [file.size for file in answer["files"]] == [(40, 30), (40, 30)]


def test_near_misses_are_called_so(address: str) -> None:
    answer = call(address, "search_photos", {"text": "black"})
    assert answer["verdict"] == "Nothing here looks like that; these are the nearest."
    assert all(hit["weak"] for hit in answer["hits"])
    answer = call(address, "search_photos", {"text": "red"})
    assert " of these 3 are above the line of weak hits; " in answer["verdict"]
    answer = call(address, "search_photos", {"text": "red", "filter": {"title": "a pink card"}})
    assert answer["verdict"] == "Nothing like that is here."
    assert any("pink" in note for note in answer["notes"])


def test_sentences_products_and_regions_are_found(address: str) -> None:
    sentence = call(address, "search_sentences", {"text": "it is lime"})["hits"][0]
    assert (sentence["id"], sentence["sentence"]) == ("lime", "it is lime")
    product = call(address, "search_products", {"text": "lime card", "limit": 1})["hits"][0]
    assert product["id"] == "lime"
    assert sum(part["gave"] for part in product["proof"]) == pytest.approx(
        product["score"], abs=1e-3
    )
    regions = call(address, "find_regions", {"text": "blue", "limit": 1})
    assert regions["hits"][0]["id"] == "both"
    assert regions["hits"][0]["box"][0] == 0.5
    assert regions["files"][0].size == (20, 15)
    alike = call(address, "search_photos", {"id": "red", "limit": 1})
    assert alike["hits"][0]["id"] == "red"


def test_a_product_that_words_find_is_never_weak(engine: Engine, address: str, png: Png) -> None:
    put(engine, "default", [Draft("mug", {"title": "lime mug"}).with_photo(png("black"))])
    line = engine.models.weak_below
    assert line is not None
    found = {hit["id"]: hit for hit in call(address, "search_products", {"text": "lime"})["hits"]}
    assert found["mug"]["probability"] < line
    assert not any("weak" in hit for hit in found.values())


def test_only_a_text_that_is_read_otherwise_is_read_as_something(address: str) -> None:
    assert "read_as" not in call(address, "search_products", {"text": "lime card"})
    assert call(address, "search_products", {"text": "lime crad"})["read_as"] == "lime card"
    assert "read_as" not in call(address, "search_photos", {"text": "red"})


def test_photos_are_explained_described_and_shown(address: str) -> None:
    found = call(address, "search_photos", {"text": "blue"})["hits"][0]
    told = call(address, "explain_hit", {"id": "both", "text": "blue"})
    assert told["score"] == pytest.approx(found["score"], abs=1e-3)
    assert told["probability"] == pytest.approx(found["probability"], abs=1e-3)
    assert told["verdict"] == "The photo is above the line of weak hits for that."
    assert len(told["files"]) == 1
    caption = call(address, "describe_photo", {"id": "both", "regions": 1})
    assert "lime" in caption["captions"][0]["unsupported"]
    item = call(address, "get_item", {"id": "both"})
    assert item["metadata"]["text"] == "x" * 700
    assert call(address, "list_collections", {})["collections"][0]["items"] == 3


@pytest.mark.parametrize("text", ["lime card", "lime", "card, not red", "card"])
def test_an_explained_hit_is_as_probable_as_a_found_one(address: str, text: str) -> None:
    found = call(address, "search_photos", {"text": text})["hits"]
    assert any("field" in part for hit in found for part in hit["proof"])
    for hit in found:
        told = call(address, "explain_hit", {"id": hit["id"], "text": text, "pictures": False})
        assert told["score"] == pytest.approx(hit["score"], abs=1e-3)
        assert told.get("probability") == pytest.approx(hit.get("probability"), abs=1e-3)


@pytest.mark.parametrize(
    ("tool", "arguments", "mistake"),
    [
        ("search_photos", {"txt": "red"}, "invalid-request: txt: there is no such field"),
        ("search_photos", {"text": "red", "limit": 1000}, "less than or equal to 20"),
        ("search_photos", {}, "send one of text, phrases, id or image"),
        ("search_photos", {"text": "red", "collection": "x"}, "not-found: "),
        ("get_item", {"id": "pink"}, "not-found: "),
        ("explain_hit", {"id": "red", "text": "red", "photo": 7}, "not-found: "),
    ],
)
def test_mistakes_are_explained_as_by_the_routes(
    address: str, tool: str, arguments: dict[str, Any], mistake: str
) -> None:
    assert mistake in call(address, tool, arguments)


@pytest.mark.parametrize(
    ("tool", "mistake"),
    [
        ("search_photo", "there is no tool 'search_photo'; the nearest one is 'search_photos'"),
        ("delete_item", "there is no tool 'delete_item'"),
    ],
)
def test_unknown_tools_are_errors_of_the_protocol(address: str, tool: str, mistake: str) -> None:
    from mcp import MCPError

    async def ask() -> None:
        async with connect(address) as client:
            with pytest.raises(MCPError, match=mistake):
                await client.call_tool(tool, {"id": "red"})

    run(ask)


@pytest.mark.parametrize(
    ("sent", "status", "mistake"),
    [
        ({"content": b"x" * 100_001}, 413, "100,000 bytes that are read"),
        ({"content": b'{"id": 1, "id": 2}'}, 422, "the key 'id' is there twice"),
        ({"content": b"{" * 5000}, 422, "the message: "),
        ({"content": b"{}", "headers": {"Content-Type": "text/plain"}}, 415, "application/json"),
    ],
)
def test_what_is_no_message_gets_a_problem(
    address: str, sent: dict[str, Any], status: int, mistake: str
) -> None:
    given = {"headers": {"Content-Type": "application/json"}} | sent
    answer = post(f"{address}/mcp", **given)
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    )
    assert mistake in answer.json()["detail"]


@pytest.fixture
def keys(settings: Settings) -> dict[str, str]:
    limits = {"slow": {"rate_limit": "1/hour"}, "other": {"collections": ("other",)}}
    made = {
        "read": make_key("read", Role.READ),
        "write": make_key("write", Role.WRITE),
        "slow": make_key("slow", Role.READ, **limits["slow"]),
        "other": make_key("other", Role.READ, **limits["other"]),
    }
    for _, key in made.values():
        add_key(settings.keys_file, key)
    return {name: secret for name, (secret, _) in made.items()}


def test_keys_open_what_they_open_elsewhere(keys: dict[str, str], address: str) -> None:
    from mcp import MCPError

    for key in ("", "wrong"):
        refused = send(address, "tools/list", {}, key)
        assert (refused.status_code, refused.json()["title"]) == (401, "A key is needed")
    with pytest.RaisesGroup(MCPError, flatten_subgroups=True):
        list_tools(address, "wrong")
    assert list_tools(address, keys["write"]) == READING
    assert call(address, "search_photos", {"text": "red"}, keys["other"]).startswith("forbidden: ")
    answers = [send(address, "tools/list", {}, keys["slow"]) for _ in range(2)]
    assert answers[1].status_code == 429
    assert answers[1].headers["retry-after"]


def test_a_full_lane_refuses_the_call(app: FastAPI, address: str) -> None:
    places = app.state.lanes.searches.places
    places.taken["others"] = places.count
    refused = call(address, "search_photos", {"text": "red"})
    assert refused.startswith("unavailable: all ")


def test_agents_write_where_the_key_and_the_setting_allow_it(
    settings: Settings, engine: Engine, keys: dict[str, str]
) -> None:
    app = create_app(settings.model_copy(update={"agents_write": True}), engine)
    with listen(app, **OPTIONS) as address:
        assert list_tools(address, keys["read"]) == READING
        assert list_tools(address, keys["write"]) == READING + WRITING
        note = {"id": "note", "sentences": ["a pink card"], "metadata": {"kind": "note"}}
        key = keys["write"]
        assert call(address, "add_item", note, key)["stored"] == "note"
        assert call(address, "add_item", note, key).startswith("condition-failed: item 'note' is")
        assert call(address, "add_item", note | {"replace": True}, key)["stored"] == "note"
        tagged = call(address, "tag_item", {"id": "note", "metadata": {"seen": True}}, key)
        assert tagged["metadata"] == {"kind": "note", "seen": True}
        fetched = call(address, "add_item", {"id": "f", "image_url": "http://a.b/c.jpg"}, key)
        assert "TESSERA_FETCH" in fetched
        assert call(address, "delete_item", {"id": "note"}, key)["deleted"] == "note"
        assert call(address, "delete_item", {"id": "note"}, key).startswith("not-found: ")


def test_the_log_names_the_tool_and_the_key(
    keys: dict[str, str], client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    calls = {"search_photos": {"text": "red"}, "get_item": {"id": "pink"}}
    with caplog.at_level("INFO", "tessera.requests"):
        for name, arguments in calls.items():
            params = {"name": name, "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            client.post("/mcp", json=message, headers={"X-API-Key": keys["read"]})
    lines = [record for record in caplog.records if getattr(record, "tool", None)]
    assert [(line.route, line.tool, line.key) for line in lines] == [
        ("/mcp", "search_photos", "read"),
        ("/mcp", "get_item", "read"),
    ]
    assert lines[1].problem == "not-found"
    assert not hasattr(lines[0], "query")
