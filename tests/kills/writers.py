"""Writers: clients to put, import, patch, delete and snapshot."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator, Mapping

import httpx2

from tests.kills.ledger import Ledger, State

Writer = Callable[[httpx2.Client, Ledger], None]
IDS = 12  # of a writer that changes single items
LINES = 40  # of an import
REFUSED = (409, 503)  # nothing was stored: a database that is busy, a model that was replaced


def put(client: httpx2.Client, ledger: Ledger) -> None:
    """Put items again and again, every other time with a photo."""
    for name in _names("put"):
        before = ledger.state(name)
        _put(client, ledger, name, State(before.version + 1 if before else 0))


def edit(client: httpx2.Client, ledger: Ledger) -> None:
    """Put, patch and delete items."""
    for name in _names("edit"):
        before = ledger.state(name)
        if before is None:
            _put(client, ledger, name, State(random.randrange(100)))
        elif random.random() < 0.7:
            after = before.patch()
            with ledger.change({name: after}) as settle:
                patch = {"metadata": {"patches": after.patches}}
                answer = client.patch(f"/items/{name}", json=patch)
                settle([name], stored=is_stored(answer))
        else:
            with ledger.change({name: None}) as settle:
                settle([name], stored=is_stored(client.delete(f"/items/{name}")))


def import_lines(client: httpx2.Client, ledger: Ledger) -> None:
    """Import lines; their statuses acknowledge them one by one."""
    while True:
        version = random.randrange(1_000)
        _import(client, ledger, {f"line {n}": State(version + n) for n in range(LINES)})


def delete_many(client: httpx2.Client, ledger: Ledger) -> None:
    """Import a batch, then delete it by ids or a filter."""
    while True:
        batch = random.randrange(1, 10**6)
        states = {f"many {n}": State(n, batch=batch) for n in range(LINES)}
        _import(client, ledger, states)
        with ledger.change(dict.fromkeys(states)) as settle:
            chosen = random.choice(({"filter": {"batch": batch}}, {"ids": list(states)}))
            settle(states, stored=is_stored(client.post("/items/delete", json=chosen)))


def snapshot(client: httpx2.Client, ledger: Ledger) -> None:
    """Make snapshots, and delete all but the newest."""
    while True:
        answer = client.post("/snapshots")
        if answer.status_code == 201:
            for older in client.get("/snapshots").json()["snapshots"][1:]:
                client.delete(older["url"])


WRITERS: tuple[Writer, ...] = (put, edit, import_lines, delete_many)


def until_killed(writer: Writer, address: str, ledger: Ledger) -> None:
    """Let a writer work until the service is gone."""
    with httpx2.Client(base_url=address, timeout=60) as client:
        try:
            writer(client, ledger)
        except httpx2.TransportError:
            return


def is_stored(answer: httpx2.Response) -> bool:
    """Return whether a change was stored, or else refused without a fault."""
    assert answer.is_success or answer.status_code in REFUSED, answer.text
    return answer.is_success


def _names(kind: str) -> Iterator[str]:
    while True:
        yield f"{kind} {random.randrange(IDS)}"


def _put(client: httpx2.Client, ledger: Ledger, name: str, state: State) -> None:
    fields = {
        "metadata": json.dumps(state.metadata),
        "sentences": state.sentences,
    }
    photo = state.photo
    with ledger.change({name: state}) as settle:
        if photo is None:
            body = {"metadata": state.metadata, "sentences": state.sentences}
            answer = client.put(f"/items/{name}", json=body)
        else:
            answer = client.put(f"/items/{name}", data=fields, files={"image": photo})
        settle([name], stored=is_stored(answer))


def _import(client: httpx2.Client, ledger: Ledger, states: Mapping[str, State]) -> None:
    lines = [json.dumps(_line(name, state)) for name, state in states.items()]
    headers = {"Content-Type": "application/x-ndjson"}
    with (
        ledger.change(states) as settle,
        client.stream("POST", "/items", content="\n".join(lines), headers=headers) as answer,
    ):
        assert answer.is_success or answer.status_code in REFUSED
        for line in answer.iter_lines() if answer.is_success else ():
            status = json.loads(line)
            settle([status["id"]], stored=status["status"] == "stored")


def _line(name: str, state: State) -> dict[str, object]:
    line: dict[str, object] = {"id": name, "metadata": state.metadata, "sentences": state.sentences}
    photo = state.photo
    return line if photo is None else line | {"image": base64.b64encode(photo).decode()}
