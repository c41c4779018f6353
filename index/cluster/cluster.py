"""Shards on a Ray cluster: their actors, and calls in time.

Of this folder, only this file and `replicas` import Ray. Every shard has several actors, on
different nodes if there are any. Ray restarts an actor that ends; until it answers, another one
does.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from math import ceil
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.placement_group import PlacementGroup
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from index.cluster.connections import THREADS, Address, Listener, pack
from index.cluster.merged import Gathered
from index.cluster.questions import Round
from index.cluster.replicas import PROBING, Replica
from index.cluster.server import ShardServer, storage_of
from index.database.storage import Storage, cut
from models.scores.calibration import Calibration

NAMESPACE = "tessera"
REACHED = 5.0  # seconds within which a head must accept a connection
SHARE = 0.25  # share of a replica's time in which a message must continue


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """The numbers of shards and of actors for each shard.

    cpus: the cores that Ray reserves for an actor. patience: seconds for a shard's answer.
    """

    shards: int = 4
    replicas: int = 2
    cpus: float = 1.0
    patience: float = 3.0


class ShardActor(ShardServer):
    """A shard's server that also accepts connections."""

    _listener: Listener | None = None

    def address(self, key: bytes) -> Address | None:
        """Return the address of its listener; None until it can be searched."""
        if not self.ready():
            return None
        with self._lock:
            if self._listener is None:
                host = ray.util.get_node_ip_address()
                self._listener = Listener(self.answer, host, key)
            return self._listener.address


class Cluster:
    """The actors of all shards of one catalog and model.

    Safe for many threads.
    Processes with the same catalog, model and layout share actors: the first one starts
    them, and they outlive it.
    """

    server: type[ShardActor] = ShardActor  # the class of actors; benchmarks replace it

    def __init__(
        self,
        address: str,
        storage: Storage,
        layout: ClusterLayout,
        fingerprint: str,
        calibration: Calibration | None = None,
        *,
        secret: bytes,
        release: str = "",
        device: str = "cpu",
    ) -> None:
        """Connect to a Ray cluster; OSError if it cannot be reached.

        `secret` is the catalog's; `release` is the program's, as actors of another release may not
        understand its questions.
        """
        connect(address)
        self.layout = layout
        self.group = group_of(secret, fingerprint, layout, release)
        self._key = blake2b(secret, person=b"shards").digest()
        self._buckets = cut(layout.shards)
        self._turn, self._lock = count(), Lock()
        self._stopped = Event()
        # Searches use the cores that Ray reserves for an actor.
        settings = (storage, fingerprint, calibration, device, max(1, ceil(layout.cpus)))
        self._replicas = [self._start_replicas(shard, settings) for shard in range(layout.shards)]
        self._watcher = Thread(target=self._watch, name="shard-watch", daemon=True)
        self._watcher.start()

    def _start_replicas(self, shard: int, settings: tuple[Any, ...]) -> list[Replica]:
        storage, *options = settings
        arguments = (storage_of(storage, self._buckets[shard]), *options)
        group = _place(f"{self.group}/{shard}", self.layout)
        server = ray.remote(self.server)
        gpus = 0.01 if str(arguments[-2]).startswith("cuda") else 0
        replicas = []
        for number in range(self.layout.replicas):
            name = f"{self.group}/{shard}/{number}"
            place = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=number)
            actor = server.options(
                name=name,
                namespace=NAMESPACE,
                get_if_exists=True,
                lifetime="detached",
                max_restarts=-1,
                max_concurrency=THREADS,
                num_cpus=self.layout.cpus,
                num_gpus=gpus,
                scheduling_strategy=place,
            ).remote(*arguments)
            seconds = SHARE * self.layout.patience / self.layout.replicas
            replicas.append(Replica(shard, name, self._key, seconds, actor=actor))
        return replicas

    def ask(self, method: str, *arguments: Any) -> Gathered:
        """Call a method of each shard, see index.cluster.merged.Servers.

        If a shard takes long, another of its actors is asked as well.
        """
        turn = next(self._turn)
        servers = [self._list_ready(shard, turn) for shard in self._replicas]
        round_ = Round(servers, pack((method, arguments)))
        round_.ask(self.layout.patience, self.layout.patience / self.layout.replicas)
        answered = sorted(round_.answers)
        coverage = sum(self._buckets[shard].share for shard in answered)
        return Gathered(
            tuple(round_.answers[shard] for shard in answered),
            1.0 if len(answered) == self.layout.shards else coverage,
        )

    def tell(self, method: str, *arguments: Any) -> None:
        """Call a method of every ready actor, without waiting."""
        question = pack((method, arguments))
        for replica in (
            replica for shard in self._replicas for replica in self._list_ready(shard, 0)
        ):
            replica.actor.answer.remote(question)

    def ready(self) -> list[int]:
        """Count the ready actors of each shard."""
        return [sum(replica.up for replica in shard) for shard in self._replicas]

    def wait(self, seconds: float) -> bool:
        """Wait until every shard answers; return whether all do."""
        deadline = monotonic() + seconds
        while not all(self.ready()) and monotonic() < deadline:
            self._stopped.wait(PROBING / 5)
        return all(self.ready())

    def close(self) -> None:
        """Disconnect from the actors, which continue for other processes."""
        self._stopped.set()
        self._watcher.join()
        for replica in (replica for shard in self._replicas for replica in shard):
            replica.close()

    def remove(self) -> None:
        """Stop the actors, and release what Ray reserved for them."""
        self.close()
        remove(self.group)

    def _list_ready(self, replicas: Sequence[Replica], turn: int) -> list[Replica]:
        """List the ready replicas, another one first each time."""
        first = turn % len(replicas)
        return [replica for replica in (*replicas[first:], *replicas[:first]) if replica.up]

    def _watch(self) -> None:
        while not self._stopped.wait(PROBING / 5) and ray.is_initialized():
            for replica in (replica for shard in self._replicas for replica in shard):
                try:
                    replica.look()
                except RayError:
                    replica.up, replica.probe = False, None
                    replica.due = monotonic() + PROBING


def connect(address: str) -> None:
    """Connect this process to a Ray cluster, or raise OSError."""
    if ray.is_initialized():
        return
    try:
        host, colon, port = address.rpartition(":")
        if colon:  # Ray itself tries for minutes
            socket.create_connection((host, int(port)), REACHED).close()
        ray.init(address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
    except (OSError, ValueError, RuntimeError, RayError) as failed:
        raise OSError(
            f"no Ray cluster answers at {address!r} ({failed}); give the address of a head, as "
            "`ray start --head` tells it, or start Ray on this machine and give auto"
        ) from failed


def group_of(secret: bytes, fingerprint: str, layout: ClusterLayout, release: str) -> str:
    """Name a group of actors by catalog, release, model and layout."""
    catalog = blake2b(secret + release.encode(), digest_size=6).hexdigest()
    return f"{catalog}-{fingerprint[:16]}-{layout.shards}x{layout.replicas}"


def groups() -> dict[str, int]:
    """Count the actors of each group."""
    sizes: dict[str, int] = {}
    for actor in ray.util.list_named_actors(all_namespaces=True):
        if actor["namespace"] == NAMESPACE:
            group = actor["name"].partition("/")[0]
            sizes[group] = sizes.get(group, 0) + 1
    return sizes


def remove(group: str) -> None:
    """Stop the actors of a group; LookupError if there are none."""
    names = [
        actor["name"]
        for actor in ray.util.list_named_actors(all_namespaces=True)
        if actor["namespace"] == NAMESPACE and actor["name"].startswith(f"{group}/")
    ]
    if not names:
        raise LookupError(f"no actors of {group!r}; there are {', '.join(groups()) or 'none'}")
    for name in names:
        ray.kill(ray.get_actor(name, namespace=NAMESPACE), no_restart=True)
    for name in {name.rpartition("/")[0] for name in names}:
        ray.util.remove_placement_group(ray.util.get_placement_group(name))


def _place(name: str, layout: ClusterLayout) -> PlacementGroup:
    """Place the actors of a shard on different nodes if possible."""
    try:
        return ray.util.get_placement_group(name)
    except ValueError:
        pass
    bundles = [{"CPU": layout.cpus}] * layout.replicas
    try:
        return ray.util.placement_group(bundles, strategy="SPREAD", name=name, lifetime="detached")
    except (ValueError, RayError):  # another process was quicker
        return ray.util.get_placement_group(name)
