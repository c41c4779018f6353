"""Real Ray clusters for tests.

A head without processors and several nodes on this machine.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster as Nodes

STORE = 80 * 2**20  # bytes of a node's object store
# As docs/use/cluster.md recommends: a node that was killed is missed sooner than by default, and
# actors are no less urgent than what else runs.
SYSTEM = {
    "health_check_period_ms": 1000,
    "health_check_failure_threshold": 4,
    "worker_niceness": 0,
}
SEARCHED_BY = Path(__file__).parents[2]


@contextmanager
def running(nodes: int = 3, cpus: float = 4) -> Iterator[Nodes]:
    """A cluster of some nodes and a head; all of it ends."""
    import ray
    from ray.cluster_utils import Cluster

    paths = [str(SEARCHED_BY), *filter(None, [os.environ.get("PYTHONPATH")])]
    before = dict(os.environ)
    os.environ |= {"PYTHONPATH": os.pathsep.join(paths), "RAY_USAGE_STATS_ENABLED": "0"}
    store = {"object_store_memory": STORE}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": SYSTEM, **store}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(nodes):
            cluster.add_node(num_cpus=cpus, **store)
        ray.init(cluster.address, namespace="tessera", log_to_driver=False)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)


def kill(process: int) -> None:
    """End a process as a crash would."""
    os.kill(process, signal.SIGKILL)


def actors(group: str) -> dict[str, tuple[int, str]]:
    """The process and node of each running actor of a group."""
    from ray._private import state  # ray.util.state needs the dashboard

    return {
        one["Name"]: (one["Pid"], one["Address"]["NodeID"])
        for one in state.actors().values()
        if one["State"] == "ALIVE" and one["Name"].startswith(group)
    }
