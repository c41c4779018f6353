"""Errors survive processes and copies; foreign and incomplete answers raise."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx2
import pytest
import tessera_client
from tessera_client import Client, NewItem, TesseraError
from tessera_client.models import Problem
from tessera_client.products import TooManyGone

Ask = Callable[[Client], Any]
MISSING = Problem(
    type="urn:tessera:problem:not-found", title="No", status=404, detail="x", instance="/items/a"
)
STATUSES = '{"line": 1, "id": "a", "status": "stored"}\n'
LINES = {"content-type": "application/x-ndjson"}
CALLS: dict[str, Ask] = {
    "a model": lambda client: client.get_item("a"),
    "nothing": lambda client: client.delete_item("a"),
    "a photo": lambda client: client.item_image("a"),
    "lines": lambda client: list(client.upload([NewItem("a", sentences=("red",))])),
}


def refuse() -> None:
    raise TesseraError(MISSING)


def through_pickle(error: Exception) -> Any:
    return pickle.loads(pickle.dumps(error))  # noqa: S301 - our own


def answering(answer: httpx2.Response) -> Client:
    """A client with this answer to each request."""
    client = Client("http://test")
    transport = httpx2.MockTransport(lambda _: answer)
    client._http = httpx2.Client(base_url="http://test", transport=transport)
    return client


@pytest.mark.parametrize("again", [copy.deepcopy, through_pickle])
def test_errors_can_be_copied_and_sent_to_processes(again: Callable[[Any], Any]) -> None:
    refused = TesseraError(MISSING)
    refused.add_note("of the third photo")
    copied = again(refused)
    assert str(copied) == str(refused) == "No: x"
    assert (copied.status, copied.kind, copied.problem) == (404, "not-found", MISSING)
    assert copied.__notes__ == ["of the third photo"]
    gone = again(TooManyGone(["a", "b"], 3, 0.1))
    assert str(gone) == str(TooManyGone(["a", "b"], 3, 0.1))
    assert gone.ids == ["a", "b"]


@pytest.mark.system
def test_a_pool_of_processes_passes_a_refusal_on() -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        with pytest.raises(TesseraError, match="No: x"):
            pool.submit(refuse).result()
        assert pool.submit(len, "ab").result() == 2


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS)
def test_a_redirect_is_an_error_that_names_the_place(ask: Ask) -> None:
    moved = httpx2.Response(302, headers={"location": "https://test/items/a"})
    with pytest.raises(TesseraError, match="302 leads to https://test/items/a") as refused:
        ask(answering(moved))
    assert (refused.value.status, refused.value.kind) == (502, "foreign-answer")


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS)
def test_a_page_of_a_proxy_is_no_answer(ask: Ask) -> None:
    page = httpx2.Response(200, html="<h1>Sign in</h1>")
    with pytest.raises(TesseraError, match=r"text/html instead of .*: Sign in$") as refused:
        ask(answering(page))
    assert (refused.value.status, refused.value.kind) == (502, "foreign-answer")
    with pytest.raises(TesseraError, match="it is empty"):
        ask(answering(httpx2.Response(200)))


@pytest.mark.parametrize("status", [404, 413, 502])
@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS)
def test_an_error_page_of_a_proxy_is_a_foreign_answer(ask: Ask, status: int) -> None:
    page = (
        f"<html><head><style>p {{}}</style></head><h1>No &amp; no</h1>{'<p>why</p>' * 999}</html>"
    )
    shown = rf"The answer is not one of Tessera: {status} with text/html instead of .*: No & no why"
    with pytest.raises(TesseraError, match=shown) as refused:
        ask(answering(httpx2.Response(status, html=page)))
    assert (refused.value.status, refused.value.kind) == (status, "foreign-answer")
    assert "<" not in str(refused.value)
    assert len(str(refused.value)) < 400
    with pytest.raises(TesseraError, match="Not Found") as refused:
        ask(answering(httpx2.Response(status, json={"detail": "Not Found"})))
    assert refused.value.kind == "foreign-answer"


def test_an_answer_that_breaks_off_is_no_answer() -> None:
    cut = httpx2.Response(
        200, content=b'{"id": "a", "meta', headers={"content-type": "application/json"}
    )
    with pytest.raises(TesseraError, match="not whole") as refused:
        answering(cut).get_item("a")
    assert (refused.value.status, refused.value.kind) == (504, "no-answer")


def test_an_answer_that_cannot_be_unpacked_is_no_answer() -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    broken = httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(b"no archive"))
    with pytest.raises(TesseraError) as refused:
        answering(broken).get_item("a")
    assert (refused.value.status, refused.value.kind) == (504, "no-answer")


def test_an_upload_with_fewer_statuses_than_items_is_not_done() -> None:
    items = [NewItem(name, sentences=("red",)) for name in "abc"]
    short = answering(httpx2.Response(200, text=STATUSES, headers=LINES))
    with pytest.raises(TesseraError, match="1 of 3 items have a status") as refused:
        list(short.upload(items))
    assert (refused.value.status, refused.value.kind) == (504, "no-answer")
    assert [status.id for status in short.upload(items[:1])] == ["a"]


@pytest.mark.system
def test_a_client_without_the_service_says_what_is_missing() -> None:
    client = Path(tessera_client.__file__).parent.parent
    code = (
        "import sys; sys.path = [path for path in sys.path if 'site-packages' in path or "
        f"'python3' in path or path.endswith('.zip')] + [{str(client)!r}]\n"
        "sys.meta_path = [finder for finder in sys.meta_path if 'editable' not in repr(finder)]\n"
        "from tessera_client import Client\nClient(path='data')"
    )
    ran = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False
    )
    assert "pip install . in Tessera's repository, or give the address" in ran.stderr
