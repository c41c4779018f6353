"""Metadata changes alone, deletions of many, and lost updates."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.engine.drafts import Draft
from app.engine.engine import Engine
from index.catalog.catalog import Catalog
from index.items import MOST_KEYS

Png = Callable[..., bytes]
MERGE = {"content-type": "application/merge-patch+json"}


def found(client: TestClient, **asked: Any) -> list[str]:
    answer = client.post("/search/image", json={"text": "red"} | asked)
    return [hit["id"] for hit in answer.json()["hits"]]


@pytest.fixture
def shop(client: TestClient, png: Png) -> TestClient:
    for name, kind in (("a", "hat"), ("b", "hat"), ("c", "shoe")):
        fields = {"metadata": json.dumps({"kind": kind, "price": 1}), "sentences": ["red"]}
        client.put(f"/items/{name}", files={"image": png("red")}, data=fields)
    return client


def get_item(client: TestClient, name: str) -> dict[str, Any]:
    """An item as lists and changes give it."""
    item: dict[str, Any] = client.get(f"/items/{name}").json()
    del item["original"]
    return item


def test_patch_merges_metadata_and_keeps_the_rest(
    shop: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.models.matcher, "embed_images", pytest.fail)
    before = get_item(shop, "a")
    patch = b'{"metadata": {"price": null, "size": {"eu": 40}}}'
    answer = shop.patch("/items/a", content=patch, headers=MERGE)
    assert answer.status_code == 200
    assert answer.json() == before | {"metadata": {"kind": "hat", "size": {"eu": 40}}}
    assert get_item(shop, "a") == answer.json()
    again = shop.patch("/items/a", json={"metadata": {"size": {"us": 8}}})
    assert again.json()["metadata"] == {"kind": "hat", "size": {"eu": 40, "us": 8}}
    assert shop.patch("/items/a", json={}).json() == again.json()
    assert shop.patch("/items/a", json={"metadata": None}).json()["metadata"] == {}


def test_patch_reaches_filters_of_searches_and_lists(shop: TestClient) -> None:
    assert found(shop, filter={"kind": "hat"}) == ["a", "b"]
    shop.patch("/items/c", json={"metadata": {"kind": "hat"}})
    shop.patch("/items/a", json={"metadata": {"kind": "cap"}})
    assert found(shop, filter={"kind": "hat"}) == ["b", "c"]
    listed = shop.get("/items", params={"filter": '{"kind": "cap"}'}).json()["items"]
    assert [item["id"] for item in listed] == ["a"]


@pytest.mark.parametrize(
    ("path", "sent", "status", "reason"),
    [
        ("/items/x", {"json": {"metadata": {"a": 1}}}, 404, "no item 'x'"),
        ("/items/a?collection=x", {"json": {}}, 404, "no collection 'x'"),
        ("/items/a", {"json": {"sentences": ["blue"]}}, 422, "sentences: there is no such field"),
        ("/items/a", {"json": {"metadata": [1]}}, 422, "metadata: Input should be"),
        ("/items/a", {"content": b"{", "headers": MERGE}, 422, "JSON"),
        ("/items/a", {"content": b"{}"}, 415, "merge-patch"),
        ("/items/a", {"json": {"metadata": {"a": "x" * 400_000}}}, 413, "bytes that are"),
        ("/items/a", {"json": {"images": [1]}}, 404, "no photo 1; its last one is 0"),
        ("/items/a", {"json": {"images": ["?"]}}, 422, "neither base64 nor an http address"),
        ("/items/a", {"json": {"images": ["aGVsbG8="]}}, 415, "not an image"),
        ("/items/a", {"json": {"images": [0] * 51}}, 422, "at most 50"),
        ("/items/a", {"json": {"metadata": {"a": "\0"}}}, 422, "NUL"),
    ],
)
def test_odd_patch_is_refused(
    shop: TestClient, path: str, sent: dict[str, Any], status: int, reason: str
) -> None:
    answer = shop.patch(path, **sent)
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    )
    assert reason in answer.json()["detail"]


def test_change_is_made_only_to_what_the_client_has_seen(shop: TestClient) -> None:
    tag = shop.get("/items/a").headers["etag"]
    changed = shop.patch("/items/a", json={"metadata": {"price": 2}}, headers={"if-match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] == shop.get("/items/a").headers["etag"] != tag
    for method in ("put", "patch", "delete"):
        sent = {} if method == "delete" else {"json": {"metadata": {}}}
        answer = shop.request(method, "/items/a", headers={"if-match": tag}, **sent)
        if method == "put":
            answer = shop.put("/items/a", json={"sentences": ["red"]}, headers={"if-match": tag})
        assert answer.status_code == 412
        assert "is at revision 4" in answer.json()["detail"]
    either = {"if-match": f"{tag}, {changed.headers['etag']}"}
    assert shop.delete("/items/a", headers=either).status_code == 204


def test_item_is_stored_only_where_there_is_none(client: TestClient) -> None:
    item = {"sentences": ["red"]}
    assert client.put("/items/a", json=item, headers={"if-match": "*"}).status_code == 412
    first = client.put("/items/a", json=item, headers={"if-none-match": "*"})
    assert (first.status_code, client.get("/items/a").headers["etag"]) == (
        201,
        first.headers["etag"],
    )
    again = client.put("/items/a", json=item, headers={"if-none-match": "*"})
    assert (again.status_code, "'a' is there already" in again.json()["detail"]) == (412, True)
    assert client.put("/items/a", json=item, headers={"if-match": "*"}).status_code == 200
    both = {"if-match": "*", "if-none-match": "*"}
    assert client.put("/items/a", json=item, headers=both).status_code == 422


MALFORMED = [
    *(
        "",
        " ",
        '"',
        '"a',
        'a"',
        "a",
        ",",
        ",,",
        "*,",
        "**",
        '*, "a"',
        '"a", *',
        "W/",
        'w/"a"',
        "'a'",
    ),
    *('"a" "b"', '"a b"', '"\x7f"', 'W/ "a"', '\\"', '"a\\"b"', "0-1", '""a'),
]


@pytest.mark.parametrize("header", ["if-match", "if-none-match"])
def test_malformed_condition_is_refused_and_changes_nothing(shop: TestClient, header: str) -> None:
    tag = shop.get("/items/a").headers["etag"]
    for value in MALFORMED:
        answers = [
            shop.put("/items/a", json={"sentences": ["red"]}, headers={header: value}),
            shop.patch("/items/a", json={"metadata": {"x": 1}}, headers={header: value}),
            shop.delete("/items/a", headers={header: value}),
        ]
        assert [answer.status_code for answer in answers] == [422, 422, 422], value
        assert all("in double quotes" in answer.json()["detail"] for answer in answers), value
        assert shop.get("/items/a").headers["etag"] == tag, value


def test_condition_names_tags_of_any_kind_and_in_several_headers(shop: TestClient) -> None:
    def patch(*headers: tuple[str, str]) -> int:
        sent = {"metadata": {"x": 1}}
        return shop.patch("/items/a", json=sent, headers=list(headers)).status_code

    def tag() -> str:
        return shop.get("/items/a").headers["etag"]

    assert patch(("if-match", '""')) == 412
    assert patch(("if-none-match", '""')) == 200
    assert patch(("if-match", f'"x", ,{tag()},')) == 200
    assert patch(("if-match", tag().strip('"'))) == 200  # a shell took the quotes away
    assert patch(("if-match", '"x"'), ("if-match", tag())) == 200
    assert patch(("if-none-match", '"x"'), ("if-none-match", tag())) == 412
    assert patch(("if-match", f"W/{tag()}")) == 412  # RFC 9110, 13.1.1: compared strongly
    assert patch(("if-none-match", f"W/{tag()}")) == 412  # 13.1.2: weakly
    assert patch(("if-match", ", ".join(['"x"'] * 1000))) == 412


def test_tag_of_another_collection_matches_nothing(client: TestClient) -> None:
    item = {"sentences": ["red"]}
    tag = client.put("/items/a", json=item | {"collection": "other"}).headers["etag"]
    client.put("/items/a", json=item)
    assert client.put("/items/a", json=item, headers={"if-match": tag}).status_code == 412
    assert client.put("/items/a", json=item, headers={"if-match": '"9-x"'}).status_code == 412


def test_one_of_many_that_make_an_item_is_told_so(client: TestClient) -> None:
    def make(number: int) -> int:
        item = {"sentences": ["red"], "metadata": {"by": number}}
        return client.put("/items/a", json=item).status_code

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(make, range(6))) == [200] * 5 + [201]


def test_put_is_answered_though_a_delete_follows_at_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Catalog.replace

    def overtaken(self: Catalog, *given: Any) -> Any:
        stored = replace(self, *given)
        self.delete(given[0], "a")
        return stored

    monkeypatch.setattr(Catalog, "replace", overtaken)
    answer = client.put("/items/a", json={"sentences": ["red"]})
    assert (answer.status_code, answer.json()["sentences"]) == (201, ["red"])
    assert client.get("/items/a").status_code == 404


def test_items_are_deleted_by_filter_after_a_dry_run(shop: TestClient) -> None:
    hats = {"filter": {"kind": "hat"}}
    dry = shop.post("/items/delete", json=hats | {"dry_run": True}).json()
    assert dry == {"collection": "default", "matched": 2, "deleted": 0}
    assert shop.post("/items/delete", json=hats).json() == dry | {"deleted": 2}
    assert found(shop) == ["c"]
    answer = shop.post("/items/delete", json={"ids": ["c", "no such"]}).json()
    assert (answer["deleted"], found(shop)) == (1, [])


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        ({}, 422, "either ids or a filter"),
        ({"ids": ["a"], "filter": {"kind": "hat"}}, 422, "either ids or a filter"),
        ({"filter": {}}, 422, "no condition"),
        ({"filter": {"$or": [{"kind": "hat"}, {}]}}, 422, "an empty one"),
        ({"filter": {"$not": {"kind": []}}}, 422, "an empty one"),
        ({"filter": {"$not": {"knid": "hat"}}}, 422, "no item has 'knid'"),
        ({"filter": {"knid": {"exists": False}}, "dry_run": True}, 422, "no item has 'knid'"),
        ({"filter": {"kind": "hat", "$not": {"colur": "red"}}}, 422, "no item has 'colur'"),
        ({"filter": {"kind": "hat", "colur": {"exists": False}}}, 422, "no item has 'colur'"),
        ({"ids": []}, 422, "ids"),
        ({"ids": ["a"] * 10_001}, 422, "10000 items"),
        ({"ids": ["a\0"]}, 422, "an id: NUL"),
        ({"ids": ["a"], "collection": "x"}, 404, "no collection"),
    ],
)
def test_odd_deletion_is_refused(
    shop: TestClient, sent: dict[str, Any], status: int, reason: str
) -> None:
    answer = shop.post("/items/delete", json=sent)
    assert (answer.status_code, reason in answer.json()["detail"]) == (status, True)
    assert len(found(shop)) == 3


def test_deletion_that_matches_nothing_is_no_mistake(shop: TestClient) -> None:
    """A retry after a lost answer, for one."""
    where = {"kind": "sock", "$not": {"colur": "red"}}
    answer = shop.post("/items/delete", json={"filter": where})
    assert (answer.status_code, answer.json()["deleted"]) == (200, 0)


@pytest.mark.parametrize("where", [{f"k{n}": 1 for n in range(2_000)}, {"k": [*range(1_001)]}])
def test_filter_of_too_many_keys_or_values_is_refused(shop: TestClient, where: Any) -> None:
    answers = [
        shop.post("/search/image", json={"text": "red", "filter": where}),
        shop.post("/search/text", json={"text": "red", "filter": where}),
        shop.post("/items/delete", json={"filter": where}),
        shop.get("/items", params={"filter": json.dumps(where)}),
    ]
    for answer in answers:
        assert answer.status_code == 422
        assert "up to 64 conditions and 1,000 values" in answer.json()["detail"]


@pytest.mark.parametrize("odd", ["%00", "%ED%A0%80", "%FF"])
def test_id_that_is_no_text_is_refused_everywhere(client: TestClient, odd: str) -> None:
    answers = [
        client.put(f"/items/{odd}", json={"sentences": ["red"]}),
        client.patch(f"/items/{odd}", json={}),
        client.get(f"/items/{odd}"),
        client.get(f"/items/{odd}/image"),
        client.delete(f"/items/{odd}"),
        client.put(f"/collections/{odd}"),
        client.put(f"/aliases/{odd}", json={"collection": "default"}),
    ]
    assert [answer.status_code for answer in answers] == [422] * 7


@pytest.mark.parametrize("odd", ["\\ud800", "\\u0000", "\\udc00x"])
def test_text_that_no_database_holds_is_refused_everywhere(client: TestClient, odd: str) -> None:
    client.put("/items/a", json={"sentences": ["red"]})
    plain = {"content-type": "application/json"}
    bodies = [
        ("PUT", "/items/a", f'{{"metadata": {{"k": "{odd}"}}, "sentences": ["red"]}}'),
        ("PUT", "/items/a", f'{{"metadata": {{"{odd}": 1}}, "sentences": ["red"]}}'),
        ("PUT", "/items/a", f'{{"sentences": ["red {odd}"]}}'),
        ("PUT", "/items/a", f'{{"sentences": ["red"], "stamp": "{odd}"}}'),
        ("PATCH", "/items/a", f'{{"stamp": "{odd}"}}'),
        ("PUT", "/items/a", f'{{"sentences": ["red"], "collection": "{odd}"}}'),
        ("PATCH", "/items/a", f'{{"metadata": {{"k": ["{odd}"]}}}}'),
        ("POST", "/items/delete", f'{{"ids": ["{odd}"]}}'),
        ("POST", "/items/delete", f'{{"filter": {{"{odd}": 1}}}}'),
        ("POST", "/search/image", f'{{"text": "red", "filter": {{"k": "{odd}"}}}}'),
        ("POST", "/search/image", f'{{"id": "{odd}"}}'),
        ("POST", "/search/image", f'{{"text": "red", "collection": "{odd}"}}'),
    ]
    for method, path, body in bodies:
        answer = client.request(method, path, content=body, headers=plain)
        assert answer.status_code == 422, (method, path, body, answer.text)
    lines = [f'{{"id": "{odd}", "sentences": ["red"]}}', f'{{"id": "b", "sentences": ["{odd}"]}}']
    lines += [f'{{"id": "b", "metadata": {{"{odd}": 1}}, "sentences": ["red"]}}']
    lines += [f'{{"id": "b", "stamp": "{odd}", "sentences": ["red"]}}']
    answer = client.post(
        "/items", content="\n".join(lines), headers={"content-type": "application/x-ndjson"}
    )
    assert [json.loads(line)["status"] for line in answer.text.splitlines()] == ["refused"] * 4
    form = client.put("/items/b", data={"metadata": f'{{"k": "{odd}"}}', "sentences": ["red"]})
    assert form.status_code in (415, 422)


def test_put_patch_and_delete_race_without_a_server_error(shop: TestClient) -> None:
    """Thirty requests a thread: each is done, or refused with reason."""

    def work(thread: int) -> set[int]:
        change: Callable[[], Any] = (
            lambda: shop.put("/items/a", json={"sentences": ["red"]}),
            lambda: shop.delete("/items/a"),
            lambda: shop.patch("/items/a", json={"metadata": {"n": 1}}),
            lambda: shop.post("/items/delete", json={"ids": ["a"]}),
            lambda: shop.get("/items/a"),
            lambda: shop.post("/search/image", json={"text": "red"}),
        )[thread]
        return {change().status_code for _ in range(30)}

    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(work, range(6)))
    assert statuses[0] <= {200, 201}
    assert set.union(*statuses) <= {200, 201, 204, 404}


@pytest.mark.parametrize("step", [".", ".."])
def test_id_that_no_address_ends_in_is_not_stored(client: TestClient, step: str) -> None:
    """Clients and proxies take it for a step in a path."""
    line = json.dumps({"id": step, "sentences": ["red"]})
    answer = client.post("/items", content=line, headers={"content-type": "application/x-ndjson"})
    assert json.loads(answer.text)["status"] == "refused"
    body = {"sentences": ["red"], "collection": step}
    answer = client.put("/items/a", json=body)
    assert (answer.status_code, "a step in an address" in answer.json()["detail"]) == (422, True)
    assert client.get("/items").json()["items"] == []


def test_patch_keeps_changes_or_removes_the_stamp(client: TestClient) -> None:
    client.put("/items/a", json={"sentences": ["red"], "stamp": "monday"})

    def patched(**change: Any) -> str | None:
        stamp: str | None = client.patch("/items/a", json=change).json()["stamp"]
        assert client.get("/items/a").json()["stamp"] == stamp
        return stamp

    assert patched(metadata={"n": 1}) == "monday"
    assert patched(stamp="tuesday") == "tuesday"
    assert patched(stamp="") == ""  # as PUT keeps it
    assert patched(stamp=None) is None
    assert patched(metadata={"n": 2}) is None


def test_no_way_in_takes_more_than_an_item_may_have(shop: TestClient, engine: Engine) -> None:
    """PUT, PATCH, a line of an import, and `tessera index`."""
    many = {f"k{number}": number for number in range(MOST_KEYS + 1)}
    for answer in (
        shop.put("/items/new", json={"sentences": ["red"], "metadata": many}),
        shop.patch("/items/a", json={"metadata": many}, headers=MERGE),
    ):
        assert (answer.status_code, "1,000 at most" in answer.text) == (422, True)
    lines = [{"id": "new", "sentences": ["red"], "metadata": many}, {"id": "d", "sentences": ["b"]}]
    content = "\n".join(map(json.dumps, lines))
    sent = shop.post("/items", content=content, headers={"content-type": "application/x-ndjson"})
    statuses = [json.loads(line) for line in sent.text.splitlines()]
    assert [status["status"] for status in statuses] == ["refused", "stored"]
    assert "1,000 at most" in statuses[0]["reason"]
    (refused,) = engine.put_each(
        "default", engine.open("default"), [Draft("new", many, sentences=("red",))]
    )
    assert refused is not None
    assert "1,000 at most" in refused
    assert shop.get("/items/new").status_code == 404
    assert "k1" not in shop.get("/items/a").json()["metadata"]
