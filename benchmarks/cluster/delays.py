"""Delays of messages between a web process and actors.

A network would add them.

An actor waits before it reads a question and before it sends its answer. So every message takes
longer by the delay, independently of other messages. Other effects of a real network, such as lost
packets and shared bandwidth, are left out.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from index.cluster.cluster import Cluster, ShardActor
from index.cluster.merged import ShardedIndex
from index.items import Collection
from index.search.contenders import ShardAnswer
from index.search.requests import Request

MILLISECONDS = (0, 1, 5, 20)  # of each message
ROUNDS = 3


class FarServer(ShardActor):
    """A shard's server with slower messages."""

    delay = 0.0  # seconds

    def best(self, collection: Collection, request: Request, revision: int) -> ShardAnswer:
        """See ShardActor.best."""
        self._travel()
        answer = super().best(collection, request, revision)
        self._travel()
        return answer

    def _travel(self) -> None:
        if self.delay:  # to sleep for no time gives the processor away
            time.sleep(self.delay)

    def move(self, delay: float) -> None:
        """Have every message take so many seconds longer from now on."""
        self.delay = delay


class FarCluster(Cluster):
    """A cluster of actors at a distance."""

    server = FarServer


def measure(
    servers: Cluster, sharded: ShardedIndex, requests: Sequence[Request]
) -> dict[str, float]:
    """Medians in ms of a search, by delay, in turns."""
    times: dict[int, list[float]] = {delay: [] for delay in MILLISECONDS}
    for round_ in range(ROUNDS + 1):
        for delay in MILLISECONDS:
            servers.ask("move", delay / 1000)
            for request in requests:
                began = time.perf_counter()
                sharded.best(request)
                if round_:  # the first one fills memory
                    times[delay].append(1000 * (time.perf_counter() - began))
    return {str(delay): statistics.median(series) for delay, series in times.items()}
