"""Recovery of a cluster from a killed actor or node."""

from __future__ import annotations

from typing import Any

from index.cluster.merged import ShardedIndex
from index.search.requests import Request
from tests.processes.clusters import actors, kill
from tests.processes.waiting import eventually

WAIT = 900.0  # seconds


def measure_recovery(
    servers: Any, sharded: ShardedIndex, request: Request, nodes: Any
) -> dict[str, float]:
    """Seconds to complete answers after kills.

    Of an actor, and of a node.
    """

    def complete() -> bool:
        return sharded.best(request).complete

    placed = actors(servers.group)
    process, _ = placed[f"{servers.group}/0/0"]
    kill(process)
    eventually(lambda: not complete(), 60, every=0.01)
    actor = eventually(complete, WAIT, every=0.01)
    _, home = placed[f"{servers.group}/1/0"]
    lost = next(worker for worker in nodes.worker_nodes if worker.node_id == home)
    nodes.remove_node(lost, allow_graceful=False)
    eventually(lambda: not complete(), 60, every=0.01)
    node = eventually(complete, WAIT, every=0.01)
    return {"actor": actor, "node": node}
