"""No caller takes all places: whoever comes next finds one."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from app.http.errors import TooManyRequests, Unavailable
from app.http.lanes import Lanes, Places, network
from app.settings import Settings


def fill(places: Places, callers: list[str], stack: ExitStack) -> dict[str, int]:
    """Callers in turns take places until none gets another."""
    held = dict.fromkeys(callers, 0)
    refused = set[str]()
    while len(refused) < len(callers):
        for caller in set(callers) - refused:
            try:
                stack.enter_context(places.take(caller))
                held[caller] += 1
            except (TooManyRequests, Unavailable):
                refused.add(caller)
    return held


@pytest.mark.parametrize(
    ("count", "greedy", "held"),
    [(2, 1, 1), (3, 1, 2), (34, 1, 25), (34, 2, 15), (34, 3, 10), (64, 1, 48), (1000, 5, 188)],
)
def test_greedy_callers_leave_places_to_the_next_one(count: int, greedy: int, held: int) -> None:
    places = Places("photos", count)
    with ExitStack() as stack:
        filled = fill(places, [f"greedy {number}" for number in range(greedy)], stack)
        assert max(filled.values()) <= held
        assert min(filled.values()) >= held - 1, "nor are they kept from what is free"
        with places.take("anna"):
            assert places.taken.total() <= count
    assert places.taken.total() == 0


def test_who_has_its_share_is_told_so_and_others_are_not() -> None:
    places = Places("photos", 4)
    with ExitStack() as stack:
        assert fill(places, ["the key 'a'"], stack) == {"the key 'a'": 3}
        with pytest.raises(TooManyRequests, match="'a' has 3 of the 4 places for photos"):
            places.take("the key 'a'").__enter__()
        with places.take("the key 'b'"), pytest.raises(Unavailable, match="all 4 places"):
            places.take("the key 'c'").__enter__()


def test_one_place_is_for_whoever_comes_first() -> None:
    places = Places("photos", 1)
    with places.take("a"), pytest.raises(Unavailable, match="try again"):
        places.take("b").__enter__()
    with places.take("b"):
        pass


def test_a_host_is_one_caller_with_all_addresses_of_its_own() -> None:
    assert network("2001:db8::1") == network("2001:db8::ffff:1")
    assert network("2001:db8::1") != network("2001:db8:0:1::1")
    assert network("::ffff:10.0.0.1") == network("10.0.0.1") != network("10.0.0.2")
    assert network("testclient") == "testclient"


def test_a_backend_with_one_key_has_no_fewer_places_than_all_had_before(
    settings: Settings,
) -> None:
    lanes = Lanes.of(Settings(data=settings.data))
    try:
        for lane, least in ((lanes.searches, 64), (lanes.photos, 34), (lanes.batches, 48)):
            with ExitStack() as stack:
                assert fill(lane.places, ["the key 'shop'"], stack)["the key 'shop'"] >= least
    finally:
        lanes.close()
