"""Deliveries of webhooks survive the end of the process."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from index.catalog.catalog import Catalog
from index.database.webhook_rows import list_deliveries, put_delivery
from tests.outside.receivers import receive
from tests.processes.sites import Site
from tests.processes.waiting import eventually


def end_claims(folder: Path, webhook: str) -> None:
    """As if the minute of a claim had gone by."""
    with closing(Catalog.in_folder(folder)) as catalog, catalog.writer.begin() as connection:
        for delivery in list_deliveries(connection, webhook):
            put_delivery(connection, replace(delivery, due=0.0))


@pytest.mark.system
@pytest.mark.timeout(600)
def test_a_killed_service_delivers_when_it_is_back(tmp_path: Path, small_matcher: Path) -> None:
    site = Site(tmp_path, "", small_matcher, "")
    home = "/collections/shop/webhooks"
    try:
        with receive() as receiver, ExitStack() as stack:
            receiver.statuses = [500]
            process, first = site.serve(webhooks="any")
            client = stack.enter_context(closing(first))
            client.put("/collections/shop").raise_for_status()
            hook = client.post(home, json={"url": receiver.url}).json()
            lines = json.dumps({"id": "a", "sentences": ["a red bus"]})
            kind = {"content-type": "application/x-ndjson"}
            client.post("/items?collection=shop", content=lines, headers=kind).raise_for_status()
            message, _ = receiver.take(hook["secret"])
            process.kill()
            process.wait()
            end_claims(tmp_path / "data", hook["id"])
            client = stack.enter_context(closing(site.serve(webhooks="any")[1]))
            again, content = receiver.take(hook["secret"], seconds=300)
            assert again == message
            assert content["data"]["counts"] == {"stored": 1}
            eventually(lambda: client.get(home).json()["webhooks"][0]["waiting"] == 0, 60)
    finally:
        site.end()
