"""Replicas of shards on a Ray cluster: actors, and probes of them."""

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
CHECKING = 2.0  # seconds between looks at ready ones

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Replica(Server):
    """An actor of a shard."""

    actor: Any = None
    probe: Any = None  # the call that asks for its address
    due: float = 0.0  # the time of the next probe

    def look(self) -> None:
        """Read the answer to its probe, and send another when due."""
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
        """Mark it as lost until it answers a probe, due soon."""
        Server.lose(
            self, failed
        )  # super() fails in a class with slots, which dataclass makes again
        self.due = min(self.due, monotonic() + PROBING)

    def _read_address(self, call: Any) -> Address | None:
        """Read its address from a finished call, if it has one."""
        address: Address | None = None
        try:
            address = ray.get(call, timeout=0)
        except RayTaskError as failed:
            log.warning("shard %s cannot be searched: %s", self.name, failed.cause)
        except (RayError, GetTimeoutError):
            pass
        return address
