"""Work of one kind never waits for another, or for ever."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app import memory
from app.engine.engine import Engine
from app.http import lanes
from app.http.errors import Unavailable
from app.http.lanes import Lane, LargeWork


def test_a_lane_computes_as_many_at_once_as_it_says() -> None:
    lane, inside, most = Lane("searches", 2, 98, patience=None), 0, 0
    lock = threading.Lock()

    def enter() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        Event().wait(0.001)
        with lock:
            inside -= 1

    async def all_of_them() -> None:
        await asyncio.gather(*(lane.run(enter) for _ in range(100)))

    asyncio.run(all_of_them())
    assert most == 2


def test_what_large_work_leaves_of_memory_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    given_back = list[None]()
    monkeypatch.setattr(memory, "give_back", lambda: given_back.append(None))

    def fail() -> None:
        raise ValueError("too large")

    async def work(lane: Lane) -> None:
        await lane.run(int)
        with pytest.raises(ValueError, match="too large"):
            await lane.run(fail)

    asyncio.run(work(Lane("searches", 1, 1, patience=None)))
    assert not given_back
    asyncio.run(work(Lane("photos", 1, 1, patience=None, large=LargeWork())))
    assert len(given_back) == 2


def test_what_networks_keep_goes_back_a_while_after_the_last_large_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rested, leave = list[None](), Event()
    monkeypatch.setattr(memory, "rest", lambda: rested.append(None))
    monkeypatch.setattr(memory, "give_back", lambda: True)
    monkeypatch.setattr(lanes, "REST", 0.1)

    async def work() -> None:
        large = LargeWork()
        photos, imports = (Lane(name, 1, 1, None, large=large) for name in ("photos", "imports"))
        running = asyncio.create_task(imports.run(leave.wait, 60))
        await photos.run(int)
        await asyncio.sleep(0.3)
        assert not rested  # an import goes on
        leave.set()
        await running
        while not rested:
            await asyncio.sleep(0.01)
        leave.clear()
        running = asyncio.create_task(imports.run(leave.wait, 60))
        await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.sleep(0.3)
        assert len(rested) == 1  # its thread works on
        leave.set()
        await photos.run(int)
        leave.clear()
        running = asyncio.create_task(imports.run(leave.wait, 60))
        await asyncio.sleep(0.3)
        assert len(rested) == 1  # the next work began in time
        leave.set()
        await running
        running = asyncio.create_task(imports.run(int))
        await asyncio.sleep(0)
        photos.close()
        await running  # begun before, as when a service ends
        await asyncio.sleep(0.3)
        assert len(rested) == 1
        large = LargeWork()
        last = Lane("photos", 1, 1, None, large=large)
        await last.run(int)
        last.close()
        await asyncio.sleep(0.3)
        assert len(rested) == 1

    asyncio.run(asyncio.wait_for(work(), 30))


def test_a_full_lane_refuses_and_opens_again() -> None:
    lane = Lane("searches", 1, 0, patience=None)
    with lane.place(), pytest.raises(Unavailable, match="try again"), lane.place():
        pass
    with lane.place():
        assert lane.places.taken.total() == 1
    assert lane.places.taken.total() == 0


def test_callers_have_their_turns_one_after_the_other() -> None:
    lane, leave, done = Lane("searches", 1, 98, patience=None), Event(), list[str]()

    async def check() -> None:
        async def ask(caller: str) -> None:
            await lane.run_for(caller, done.append, caller)

        first = asyncio.create_task(lane.run(leave.wait, 60))
        await asyncio.sleep(0)
        many = [asyncio.create_task(ask("greedy")) for _ in range(50)]
        await asyncio.sleep(0)
        few = [asyncio.create_task(ask(caller)) for caller in ("a", "a", "b")]
        await asyncio.sleep(0)
        many[2].cancel()
        leave.set()
        await asyncio.gather(first, *few, *many, return_exceptions=True)
        await lane.run(done.append, "last")

    asyncio.run(check())
    assert done[:7] == ["greedy", "greedy", "a", "b", "greedy", "a", "greedy"]
    assert done.count("greedy") == 49
    assert done[-1] == "last"


def test_a_caller_leaves_turns_to_others() -> None:
    lane, leave = Lane("fetches", 3, 98, patience=None, share=2), Event()

    async def check() -> None:
        slow = [asyncio.create_task(lane.run_for("slow", leave.wait, 60)) for _ in range(9)]
        await asyncio.sleep(0)
        assert await asyncio.wait_for(lane.run_for("quick", lambda: "done"), 30) == "done"
        leave.set()
        await asyncio.gather(*slow)

    asyncio.run(check())


def test_a_closed_lane_lets_no_one_wait() -> None:
    lane, leave = Lane("fetches", 1, 98, patience=None), Event()

    async def check() -> None:
        tasks = [asyncio.create_task(lane.run(leave.wait, 60)) for _ in range(6)]
        await asyncio.sleep(0.05)
        lane.close()
        leave.set()
        ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
        assert ended[0] is True
        assert all(isinstance(each, asyncio.CancelledError) for each in ended[1:])
        with pytest.raises(Unavailable):
            await lane.run(int)

    asyncio.run(check())


def test_work_that_waits_too_long_is_refused_and_never_done() -> None:
    lane, leave, done = Lane("searches", 1, 1, patience=0.01), Event(), list[str]()

    async def check() -> None:
        first = asyncio.create_task(lane.run(leave.wait, 60))
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="busy"):
            await lane.run(done.append, "second")
        leave.set()
        assert await first

    asyncio.run(check())
    assert done == []


def test_work_whose_client_left_is_dropped_where_it_has_not_begun() -> None:
    lane, leave, done = Lane("searches", 1, 1, patience=None), Event(), list[str]()

    async def check() -> None:
        first = asyncio.create_task(lane.run(leave.wait, 60))
        second = asyncio.create_task(lane.run(done.append, "second"))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        leave.set()
        assert await first
        await lane.run(done.append, "third")

    asyncio.run(check())
    assert done == ["third"]


def test_text_is_searched_while_every_photo_waits(
    address: str,
    app: FastAPI,
    engine: Engine,
    png,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lanes = replace(app.state.lanes, photos=Lane("photos", 1, 0, patience=None))
    monkeypatch.setattr(app.state, "lanes", lanes)
    entered, leave = Event(), Event()
    embed = engine.models.matcher.embed_images

    def slow(images):
        entered.set()
        assert leave.wait(60)
        return embed(images)

    monkeypatch.setattr(engine.models.matcher, "embed_images", slow)
    path, photo = f"{address}/items/a", {"image": ("a.png", png("red"))}
    with ThreadPoolExecutor(1) as pool:
        put = pool.submit(httpx2.put, path, files=photo, timeout=60)
        assert entered.wait(60)
        body = {"text": "red"}
        assert httpx2.post(f"{address}/search/image", json=body, timeout=60).status_code == 200
        refused = httpx2.put(f"{address}/items/b", files=photo, timeout=60)
        metrics = httpx2.get(f"{address}/metrics").text
        leave.set()
        assert put.result().status_code == 201
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert 'tessera_lane_places{lane="photos"}' in metrics


@pytest.mark.parametrize("path", ["/search/image", "/search/products"])
def test_a_part_of_a_stored_photo_waits_with_photos(
    client: TestClient, app: FastAPI, png, path: str
) -> None:
    client.put("/items/a", files={"image": png("red")})
    whole = {"id": "a", "text": "red", "photo_weight": 1}
    app.state.lanes = replace(app.state.lanes, photos=Lane("photos", 1, 0, patience=None))
    with app.state.lanes.photos.place():
        assert client.post(path, json=whole).status_code == 200
        refused = client.post(path, json=whole | {"box": [0, 0, 0.5, 1]})
        assert (refused.status_code, app.state.lanes.searches.places.taken.total()) == (503, 0)
    assert client.post(path, json=whole | {"box": [0, 0, 0.5, 1]}).status_code == 200
