"""Replicas of shards on a Ray cluster: which actors answer, and a question to one of each shard."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from index.failures import Busy
from index.messages import unpacked

PROBING = 0.25  # seconds between looks at actors that do not answer
CHECKING = 2.0  # seconds between looks at those that do
REPLIES = (ValueError, LookupError, Busy)  # that another actor of the shard would give, too

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Replica:
    """An actor of a shard, and whether it answered the last time."""

    shard: int
    name: str
    actor: Any
    up: bool = False
    probe: Any = None  # the call that looks whether it answers
    due: float = 0.0  # when it is looked at next

    def look(self) -> None:
        """See whether it has answered, and ask it again when it is time; waits for nothing."""
        if self.probe is None:
            if monotonic() >= self.due:
                self.probe = self.actor.ready.remote()
            return
        finished, _ = ray.wait([self.probe], timeout=0)
        if finished:
            self.probe = None
            self.up = _answered(finished[0], self.name)
            self.due = monotonic() + (CHECKING if self.up else PROBING)


@dataclass(slots=True)
class Round:
    """One question to all shards: what is waited for, and who else could be asked."""

    others: list[Iterator[Replica]]
    question: bytes
    answers: dict[int, Any] = field(default_factory=dict)  # by shard
    waiting: dict[Any, Replica] = field(default_factory=dict)

    def send(self, shard: int) -> None:
        """Ask the shard's next replica, if there is one."""
        for replica in self.others[shard]:
            try:
                call = replica.actor.answer.remote(self.question)
            except RayError:
                replica.up = False
            else:
                self.waiting[call] = replica
                return

    def take(self, call: Any) -> None:
        """Take an answer in; one of an actor that failed is asked of another."""
        replica = self.waiting.pop(call)
        if replica.shard in self.answers:
            return
        try:
            self.answers[replica.shard] = unpacked(ray.get(call))
        except RayTaskError as failed:
            if isinstance(failed.cause, REPLIES):
                raise failed.cause from None
            log.exception("shard %s failed", replica.name)
            self.send(replica.shard)
        except RayError as lost:
            log.warning("shard %s does not answer: %s", replica.name, type(lost).__name__)
            replica.up = False
            self.send(replica.shard)

    def send_again(self) -> None:
        """Ask further replicas of all shards that are waited for."""
        for shard in {replica.shard for replica in self.waiting.values()} - self.answers.keys():
            self.send(shard)


def _answered(call: Any, name: str) -> bool:
    """Whether a call that has come back was answered."""
    try:
        return bool(ray.get(call, timeout=0))
    except RayTaskError as failed:
        log.warning("shard %s cannot be searched: %s", name, failed.cause)
    except (RayError, GetTimeoutError):
        pass
    return False
