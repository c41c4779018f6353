"""Deliveries are signed, and reach permitted addresses alone, in time."""

from __future__ import annotations

import hmac
import socket
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from ipaddress import ip_address

import pytest

from app.webhooks.deliverer import SCHEDULE, choose_wait, judge
from app.webhooks.posting import Poster, PostResult, make_secret, sign
from index.database.webhook_rows import Delivery, Webhook
from tests.outside.receivers import Receiver

SECRET = make_secret()
HOOK = Webhook("h", "shop", "https://shop.example/a", ("import.finished",), SECRET, 1.0)
DELIVERY = Delivery("msg_a", "h", "import.finished", '{"type":"import.finished","ü":1}', 1.0)
NOW = datetime(2026, 11, 26, 12, 0, 0, 900_000, tzinfo=UTC)


def test_a_signature_is_the_hmac_of_id_time_and_body() -> None:
    headers = dict(sign(HOOK, DELIVERY, NOW))
    seconds = headers["webhook-timestamp"]
    assert int(seconds) == int(NOW.timestamp())
    signed = f"msg_a.{seconds}.{DELIVERY.body}".encode()
    digest = hmac.new(b64decode(SECRET.removeprefix("whsec_")), signed, sha256).digest()
    assert headers["webhook-signature"] == f"v1,{b64encode(digest).decode()}"


def test_a_post_has_the_body_that_was_signed(receiver: Receiver) -> None:
    hook = replace(HOOK, url=receiver.url)
    result = Poster("any").post(hook, DELIVERY, datetime.now(UTC))
    assert (result.status, result.delivered) == (204, True)
    assert receiver.take(SECRET) == ("msg_a", {"type": "import.finished", "ü": 1})


def test_redirects_are_not_followed_and_retry_after_is_read(receiver: Receiver) -> None:
    receiver.statuses, receiver.headers = [302], {"Location": receiver.url, "Retry-After": "90"}
    result = Poster("any").post(replace(HOOK, url=receiver.url), DELIVERY, datetime.now(UTC))
    assert (result.status, result.delivered, result.wait) == (302, False, 90.0)
    assert receiver.came.qsize() == 1


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1"])
def test_a_name_with_a_private_address_is_not_reached(address: str) -> None:
    poster = Poster(resolve=lambda host, port: [ip_address("8.8.8.8"), ip_address(address)])
    result = poster.post(HOOK, DELIVERY, NOW)
    assert result.status is None
    assert "'shop.example' is not an address of the public internet" in result.detail


def test_a_setting_that_has_changed_holds_for_what_waits(receiver: Receiver) -> None:
    for reach, reason in (("public", "is https://"), ("none", "webhooks are switched off")):
        result = Poster(reach).post(replace(HOOK, url=receiver.url), DELIVERY, NOW)  # type: ignore[arg-type]  # of the test's own
        assert reason in result.detail
    assert receiver.came.empty()


def test_a_silent_receiver_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        result = Poster("any", seconds=0.2).post(replace(HOOK, url=url), DELIVERY, NOW)
    assert result == PostResult(None, "no answer within 0.2 seconds")
    closed = Poster("any").post(replace(HOOK, url=url), DELIVERY, NOW)
    assert closed.status is None
    assert closed.detail.startswith("not reached: ")


def test_attempts_are_those_of_standard_webhooks() -> None:
    failed = PostResult(503, "answered 503")
    statuses = [judge(failed, attempt) for attempt in range(1, 11)]
    assert statuses == ["failed"] * 9 + ["given_up"]
    assert judge(PostResult(410, "answered 410"), 1) == "given_up"
    assert judge(PostResult(204, "answered 204"), 10) == "delivered"
    assert SCHEDULE == (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
    for attempt, seconds in enumerate(SCHEDULE, start=1):
        assert seconds <= choose_wait(attempt, 0.0) <= seconds * 1.1
    assert choose_wait(1, 600.0) == 600.0, "as the receiver asks"
    assert choose_wait(1, 10.0**9) == SCHEDULE[-1]
