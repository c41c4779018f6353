"""A body has some seconds, and one more for every so many bytes."""

from __future__ import annotations

import pytest

from app.http.errors import TooSlow
from app.http.timeouts import BodyPace


def test_bytes_buy_time_up_to_a_limit() -> None:
    pace = BodyPace(grace=10, rate=500, most=60)
    assert pace.left == 10
    pace.add(5_000, waited=4)
    assert pace.left == 16
    pace.add(10**6, waited=0)
    assert pace.left == 56
    pace.check("the body")


def test_who_is_too_slow_is_told_how_fast_a_body_must_come() -> None:
    pace = BodyPace(grace=10, rate=500, most=60)
    pace.add(2, waited=10)
    pace.check("the body")
    pace.add(0, waited=1)
    with pytest.raises(TooSlow) as slow:
        pace.check("the body")
    assert str(slow.value) == (
        "the body came too slowly, 2 bytes in 11 seconds: after 10 seconds 500 bytes must come a "
        "second"
    )
    pace.add(10**9, waited=60)
    with pytest.raises(TooSlow, match="longer than 60 seconds"):
        pace.check("the body")


def test_without_a_rate_the_limit_alone_counts() -> None:
    pace = BodyPace(grace=10, rate=0, most=60)
    pace.add(1, waited=59)
    assert pace.left == 1
