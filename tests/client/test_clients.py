"""The client gives equal answers over HTTP and in-process.

For threads and for asyncio.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import socket

import httpx2
import pytest
from tessera_client import AsyncClient, Client, NewItem, TesseraError, clients, retries
from tessera_client.models import ImportStatus

from app.main import create_app
from app.settings import Settings

Png = Callable[..., bytes]
COLOURS = ("red", "lime", "blue", "white", "black")


@pytest.fixture
def remote(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


@pytest.fixture
def local(tmp_path: Path, small_matcher: Path) -> Iterator[Client]:
    options = {"matcher": small_matcher, "captioner": None, "grounder": None}
    with Client(path=tmp_path / "local", settings=options) as client:
        yield client


@pytest.fixture
def unused() -> Iterator[str]:
    """An address without a listener: its port is taken."""
    with socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def items(png: Png) -> Iterator[NewItem]:
    for colour in COLOURS:
        yield NewItem(colour, png(colour), (f"a {colour} wall",), {"colour": colour})


def fill(client: Client, png: Png) -> None:
    assert {status.status for status in client.upload(items(png))} == {"stored"}


def test_upload_answers_each_item_in_order_and_tells_progress(remote: Client, png: Png) -> None:
    told: list[int] = []
    broken = NewItem("broken", b"no photo")
    statuses = list(remote.upload([*items(png), broken], told.append))
    assert [(status.line, status.id) for status in statuses[:5]] == list(enumerate(COLOURS, 1))
    assert (statuses[5].line, statuses[5].id, statuses[5].status) == (6, "broken", "refused")
    assert "not" in (statuses[5].reason or "")
    assert told == [6]


def test_batches_are_small_and_lose_nothing(monkeypatch: pytest.MonkeyPatch, png: Png) -> None:
    from tessera_client import items as module

    monkeypatch.setattr(module, "BATCH_LINES", 2)
    lost = NewItem("lost", Path("lost.png"))
    sent = list(module.batches([*items(png), lost]))
    assert [bytes(batch.lines).count(b"\n") for batch in sent] == [2, 2, 1]
    assert [batch.places for batch in sent] == [[1, 2], [3, 4], [5]]
    assert [status.line for status in sent[-1].refused] == [6]


def ask_for_statuses(address: str, sent: list[NewItem], told: list[int]) -> list[ImportStatus]:
    with Client(address) as client:
        return list(client.upload(sent, told.append))


def await_statuses(address: str, sent: list[NewItem], told: list[int]) -> list[ImportStatus]:
    async def use() -> list[ImportStatus]:
        async with AsyncClient(address) as client:
            return [status async for status in client.upload(sent, told.append)]

    return asyncio.run(use())


@pytest.mark.parametrize("upload", [ask_for_statuses, await_statuses])
def test_an_item_that_cannot_be_sent_is_refused_alone(
    address: str, png: Png, tmp_path: Path, upload: Callable[..., list[ImportStatus]]
) -> None:
    red, lime = (NewItem(name, png(name)) for name in ("red", "lime"))
    lost = NewItem("lost", tmp_path / "lost.png")
    folder = NewItem("folder", str(tmp_path))
    strange = NewItem("strange", sentences=("red",), metadata={"of": object()})
    told: list[int] = []
    statuses = upload(address, [lost, red, folder, strange, lime, lost], told)
    assert [(status.line, status.id, status.status) for status in statuses] == [
        (1, "lost", "refused"),
        (2, "red", "stored"),
        (3, "folder", "refused"),
        (4, "strange", "refused"),
        (5, "lime", "stored"),
        (6, "lost", "refused"),
    ]
    reasons = [status.reason or "" for status in statuses]
    assert "lost.png" in reasons[0]
    assert "directory" in reasons[2]
    assert "JSON" in reasons[3]
    assert told == [6]
    assert [status.line for status in upload(address, [folder, lost], told)] == [1, 2]


def test_search_finds_by_text_by_photo_and_by_id(remote: Client, png: Png) -> None:
    fill(remote, png)
    assert remote.search_images("red").hits[0].id == "red"
    assert remote.search_images(image=png("blue")).hits[0].id == "blue"
    assert remote.search_images(id="lime").hits[0].id == "lime"
    assert remote.search_sentences(image=png("red")).hits[0].sentence == "a red wall"
    hits = remote.search_images(phrases=[("red", 2.0)], filter={"colour": ["blue", "lime"]}).hits
    assert {hit.id for hit in hits} == {"blue", "lime"}
    part = remote.search_regions("red").hits[0]
    assert part.id == "red"
    assert remote.item_crop(part.id, tuple(part.box), webp=True)[8:12] == b"WEBP"
    half = remote.search_images(image=png("red", "lime"), box=(0.5, 0, 1, 1)).hits[0]
    assert half.id == "lime"
    listed = remote.search_images(sort="colour", descending=True, facets=["colour"], limit=2)
    assert [hit.id for hit in listed.hits] == ["white", "red"]
    assert (listed.total, listed.facets[0].distinct) == (5, 5)


def test_links_of_a_hit_add_up(remote: Client, png: Png) -> None:
    fill(remote, png)
    hit = remote.search_images("a red and a blue wall").hits[0]
    assert sum(link.similarity for link in hit.links) == pytest.approx(hit.score)


def test_iterators_go_through_all_pages(remote: Client, png: Png) -> None:
    fill(remote, png)
    assert [item.id for item in remote.items(limit=2)] == sorted(COLOURS)
    assert len({hit.id for hit in remote.image_hits("red", limit=2)}) == 5
    assert len({hit.id for hit in remote.region_hits("red", limit=2)}) == 5
    assert len({hit.id for hit in remote.sentence_hits(image=png("red"), limit=2)}) == 5
    assert len({hit.id for hit in remote.product_hits(limit=2)}) == 5


def test_items_are_put_read_and_deleted(remote: Client, png: Png) -> None:
    shop = remote.on("shop & co")
    stored = shop.put_item("a/b", image=png("red"), sentences=["one", "two"], metadata={"n": 1})
    assert (stored.id, stored.sentences, stored.metadata) == ("a/b", ["one", "two"], {"n": 1})
    assert shop.get_item("a/b").sentences == ["one", "two"]
    assert shop.item_image("a/b")[:2] == b"\xff\xd8"
    assert [one.name for one in shop.collections().collections] == ["shop & co"]
    shop.delete_item("a/b")
    with pytest.raises(TesseraError, match="no item 'a/b'") as refused:
        shop.get_item("a/b")
    assert (refused.value.status, refused.value.kind) == (404, "not-found")


def test_a_photos_own_metadata_is_stored_if_asked(local: Client, png: Png) -> None:
    stored = local.put_item("a", image=png("red"), metadata={"n": 1}, read_metadata=True)
    assert stored.metadata == {"n": 1, "width": 40, "height": 30, "orientation": "landscape"}


def test_explanations_come_as_values_and_as_pictures(remote: Client, png: Png) -> None:
    photo = png("red", "blue")
    aligned = remote.align("red and blue", image=photo)
    assert sum(link.similarity for link in aligned.links) == pytest.approx(aligned.score)
    assert remote.align_picture("red", image=photo)[:4] == b"\x89PNG"
    assert b"<svg" in remote.align_picture("red", image=photo, kind="svg")
    assert remote.ground("left", image=photo).phrases[0].boxes[0].box == [0, 0, 0.5, 1]
    found = remote.caption(image=photo, count=2, temperature=0.5, seed=1, max_words=9)
    assert [one.words[0].text for one in found.captions] == ["40", "40"]
    assert remote.caption_picture(image=photo)[:4] == b"\x89PNG"
    with pytest.raises(TesseraError, match="no captioner of regions is loaded"):
        remote.caption(image=photo, regions=3)


def test_one_process_answers_as_a_service_does(local: Client, png: Png) -> None:
    fill(local, png)
    assert local.models().matcher.name == "dvsa"
    assert {hit.id for hit in local.search_images("a red wall").hits} == set(COLOURS)
    assert [item.id for item in local.items(limit=2)] == sorted(COLOURS)
    assert local.item_image("red")[:2] == b"\xff\xd8"
    with pytest.raises(TesseraError, match="no captioner is loaded"):
        local.caption(id="red")


def test_asyncio_has_the_same_methods(address: str, png: Png) -> None:
    async def use() -> None:
        async with AsyncClient(address) as client:
            statuses = [status async for status in client.upload(items(png))]
            assert [status.status for status in statuses] == ["stored"] * 5
            assert (await client.search_images("red")).hits[0].id == "red"
            assert [item.id async for item in client.items(limit=2)] == sorted(COLOURS)
            assert len([hit async for hit in client.image_hits("red", limit=2)]) == 5
            assert len([hit async for hit in client.product_hits(limit=2)]) == 5
            with pytest.raises(TesseraError):
                await client.get_item("nothing")

    asyncio.run(use())


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(clients.Retrying, "sleep", slept.append, raising=False)
    return slept


def answering(*responses: httpx2.Response) -> Client:
    """A client with these responses, the last one from then on."""
    client, waiting = Client("http://test"), list(responses)
    transport = httpx2.MockTransport(lambda _: waiting.pop(0) if waiting else responses[-1])
    client._http = httpx2.Client(base_url="http://test", transport=transport)
    return client


def test_a_busy_service_is_asked_again_when_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setitem(retries.RETRIES, "sleep", slept.append)
    busy = httpx2.Response(503, headers={"Retry-After": "2"})
    empty = httpx2.Response(200, json={"collections": []})
    assert answering(busy, busy, empty).collections().collections == []
    assert slept == [2.0, 2.0]


def test_a_service_that_stays_busy_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(retries.RETRIES, "sleep", lambda _: None)
    busy = httpx2.Response(429, headers={"Retry-After": "1"}, text="slow down")
    with pytest.raises(TesseraError, match="slow down") as refused:
        answering(busy).collections()
    assert refused.value.status == 429


def test_a_service_that_is_not_there_is_told_after_all_attempts(
    monkeypatch: pytest.MonkeyPatch, unused: str
) -> None:
    attempts: list[int] = []
    monkeypatch.setitem(retries.RETRIES, "wait", lambda _: attempts.append(1) or 0)

    for ask in (ask_at_once, ask_async):
        with pytest.raises(TesseraError, match="No answer came") as refused:
            ask(unused)
        assert (refused.value.status, refused.value.kind) == (503, "unreachable")
        assert isinstance(refused.value.__cause__, httpx2.ConnectError)
    assert len(attempts) == 2 * retries.ATTEMPTS


def ask_at_once(address: str, **options: float) -> None:
    with Client(address, **options) as client:
        client.collections()


def ask_async(address: str, **options: float) -> None:
    async def ask() -> None:
        async with AsyncClient(address, **options) as client:
            await client.collections()

    asyncio.run(ask())


@pytest.mark.parametrize("ask", [ask_at_once, ask_async])
def test_an_unknown_host_and_a_failure_of_tls_are_told_at_once(
    monkeypatch: pytest.MonkeyPatch, address: str, ask: Callable[[str], None]
) -> None:
    pauses: list[object] = []
    monkeypatch.setitem(retries.RETRIES, "wait", lambda state: pauses.append(state) or 0)
    for wrong in ("http://nowhere.invalid", address.replace("http://", "https://")):
        with pytest.raises(TesseraError) as refused:
            ask(wrong)
        assert (refused.value.status, refused.value.kind) == (503, "unreachable")
    assert pauses == []


@pytest.mark.parametrize("ask", [ask_at_once, ask_async])
def test_a_service_that_says_nothing_is_left_after_the_timeout(ask: Callable[..., None]) -> None:
    with socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(TesseraError) as refused:
            ask(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.5)
    assert (refused.value.status, refused.value.kind) == (504, "no-answer")


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_an_address_without_a_scheme_is_refused(make: type[Client] | type[AsyncClient]) -> None:
    for url in ("127.0.0.1:8100", "localhost:8000", "ftp://a.b", ""):
        with pytest.raises(ValueError, match="must begin with http:// or https://"):
            make(url)


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_an_address_and_a_folder_are_refused_together(
    make: type[Client] | type[AsyncClient], tmp_path: Path
) -> None:
    folder = tmp_path / "local"
    with pytest.raises(ValueError, match=r"url 'http://a\.b' and path '.*local'"):
        make("http://a.b", path=folder)
    assert not folder.exists()


def test_a_failure_is_not_repeated() -> None:
    failed, then = httpx2.Response(500, text="broken"), httpx2.Response(200, json={})
    with pytest.raises(TesseraError, match="broken"):
        answering(failed, then).collections()


def test_every_endpoint_has_a_method() -> None:
    paths = create_app(Settings()).openapi()["paths"]
    served = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    machines = {
        ("GET", path) for path in ("/healthz", "/livez", "/readyz", "/metrics", "/examples")
    }
    machines |= {(method, path) for method, path in served if path.startswith("/snapshots")}
    machines |= {(method, "/session") for method in ("GET", "POST", "DELETE")}
    source = "".join(file.read_text() for file in Path(clients.calls.__file__).parent.glob("*.py"))
    missing = [
        (method, path)
        for method, path in served - machines
        if f'"{path}"' not in source and "{" not in path
    ]
    assert missing == []


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_without_an_address_is_refused(local: Client, name: str) -> None:
    with pytest.raises(ValueError, match="has no address of its own"):
        local.get_item(name)


def test_items_are_patched_and_deleted_and_names_move(remote: Client, png: Png) -> None:
    fill(remote.on("load"), png)
    remote.point_alias("shop", "load")
    shop = remote.on("shop")
    assert shop.patch_item("red", {"colour": None, "n": 1}).metadata == {"n": 1}
    assert shop.delete_items(filter={"n": 1}, dry_run=True).matched == 1
    assert shop.delete_items(ids=["red", "lime"]).deleted == 2
    assert shop.restore_items(["red"]).unknown == ["red"], "which came from no folder"
    assert [item.id for item in shop.items()] == ["black", "blue", "white"]
    remote.make_collection("next")
    remote.point_alias("shop", "next")
    remote.drop_collection("load")
    assert list(shop.items()) == []
    assert remote.rename_collection("next", "last", alias=True).name == "last"
    assert {one.name: one.collection for one in remote.aliases().aliases} == {
        "next": "last",
        "shop": "last",
    }
    remote.forget_alias("shop")
    with pytest.raises(TesseraError, match="no collection 'shop'"):
        shop.list_items()


def test_webhooks_are_added_listed_and_removed(remote: Client) -> None:
    remote.make_collection("shop")
    new = remote.add_webhook("shop", "https://erp.example/a", events=["import.failed"])
    assert new.secret.startswith("whsec_")
    listed = remote.webhooks("shop").webhooks
    assert [(hook.id, hook.events, hook.last) for hook in listed] == [
        (new.id, ["import.failed"], None)
    ]
    remote.remove_webhook("shop", new.id)
    assert remote.webhooks("shop").webhooks == []
    chosen = remote.add_webhook("shop", "https://erp.example/a", secret=new.secret)
    assert (chosen.secret, len(chosen.events)) == (new.secret, 2)
    with pytest.raises(TesseraError, match="is not an address of the public internet"):
        remote.add_webhook("shop", "https://10.0.0.1/a")
