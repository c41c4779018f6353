"""Places: a bounded number of requests, shared fairly between callers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address

from app.http.errors import TooManyRequests, Unavailable

# A caller takes another place only while it has fewer than so many for each one that would be left
# free, as queues share a switch's memory (Choudhury & Hahne 1998): one alone gets three quarters,
# two get three sevenths each. Who has a place never takes the last one.
GREED = 3


class Places:
    """`count` places for `thing`. Used by one event loop."""

    def __init__(self, thing: str, count: int) -> None:
        self.thing, self.count = thing, count
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        """The number of taken places."""
        return self._taken.total()

    def check(self, caller: str = "") -> None:
        """See check_share."""
        check_share(self.thing, self.count, self.taken, self._taken[caller], caller)

    @contextmanager
    def take(self, caller: str = "") -> Iterator[None]:
        """Take a place; errors are those of `check`."""
        self.check(caller)
        self._taken[caller] += 1
        try:
            yield
        finally:
            self._taken[caller] -= 1
            if not self._taken[caller]:
                del self._taken[caller]


def check_share(thing: str, count: int, taken: int, held: int, caller: str) -> None:
    """Check that a caller with `held` of the `taken` places may take one more.

    Unavailable if none is free, TooManyRequests if the caller has its share.
    """
    free = count - taken
    if free <= 0:
        raise Unavailable(f"all {count} places for {thing} are taken; try again in a second")
    if held and held >= GREED * (free - 1):
        raise TooManyRequests(
            f"{caller or 'this caller'} has {held} of the {count} places for {thing}, and those "
            "that are left are for others; try again in a second"
        )


def network(address: str) -> str:
    """Reduce an IPv6 address to its /64: one host has all of it.

    >>> network("10.0.0.1"), network("2001:db8::1"), network("2001:db8::2")
    ('10.0.0.1', '2001:db8::/64', '2001:db8::/64')
    """
    try:
        host = ip_address(address)
    except ValueError:
        return address
    if not isinstance(host, IPv6Address) or host.is_loopback:
        return address
    if host.ipv4_mapped:
        return str(host.ipv4_mapped)
    return f"{IPv6Address(int(host) >> 64 << 64)}/64"
