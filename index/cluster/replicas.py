"""Replicas of shards on a Ray cluster: actors, and which of them can be asked."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from time import monotonic
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from index.cluster.connections import Address
from index.cluster.questions import Server

PROBING = 0.25  # seconds between looks at actors that do not answer
CHECKING = 2.0  # seconds between looks at those that do

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Replica(Server):
    """An actor of a shard."""

    actor: Any = None
    probe: Any = None  # the call that looks whether it answers, and where
    due: float = 0.0  # when it is looked at next

    def look(self) -> None:
        """See whether it has answered, and ask it again when it is time."""
        if self.probe is None:
            if monotonic() >= self.due:
                self.probe = self.actor.address.remote(self.key)
            return
        finished, _ = ray.wait([self.probe], timeout=0)
        if finished:
            self.probe = None
            self.due = monotonic() + (
                CHECKING if self.reach(self._read_address(finished[0])) else PROBING
            )

    def lose(self, failed: Exception) -> None:
        """Ask it no more until it has answered a probe, which it is soon sent."""
        Server.lose(self, failed)  # super() does not know a class that dataclass has made anew
        self.due = min(self.due, monotonic() + PROBING)

    def _read_address(self, call: Any) -> Address | None:
        """Where it answers, if a call that has come back says so."""
        address: Address | None = None
        try:
            address = ray.get(call, timeout=0)
        except RayTaskError as failed:
            log.warning("shard %s cannot be searched: %s", self.name, failed.cause)
        except (RayError, GetTimeoutError):
            pass
        return address
