"""Search on a Ray cluster, as the settings describe it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from app import __version__
from app.settings import Settings
from models import extras
from models.rooms import PREFIX

if TYPE_CHECKING:
    from app.engine.inference import Models
    from index.catalog.catalog import Catalog
    from index.cluster.merged import ShardedIndexes
    from index.documents.thesaurus import Synonyms


def import_cluster() -> ModuleType:
    """Import index.cluster.cluster; ValueError without Ray."""
    try:
        return import_module(f"{PREFIX}index.cluster.cluster")
    except ModuleNotFoundError as absent:
        if absent.name != "ray":
            raise
        raise ValueError(f"a cluster needs Ray: {extras.install('cluster')}") from absent


def connect(settings: Settings) -> ModuleType:
    """Connect index.cluster.cluster; OSError without an answer."""
    module = import_cluster()
    if not settings.cluster:
        raise ValueError("name a cluster: --cluster HOST:6379, or TESSERA_CLUSTER")
    module.connect(settings.cluster)
    return module


def check(settings: Settings) -> None:
    """Raise ValueError without Ray, or without a database for all nodes."""
    import_cluster()
    if not settings.database.startswith("postgres"):
        raise ValueError(
            "a cluster's nodes share a database: set TESSERA_DATABASE=postgresql://…, "
            "and TESSERA_PICTURES to a folder or an object store that all of them reach"
        )


def open_indexes(
    settings: Settings, catalog: Catalog, models: Models, synonyms: Synonyms | None
) -> ShardedIndexes:
    """Open indexes with actors as shards.

    Errors are those of `check`, and OSError without a cluster.
    """
    check(settings)
    from index.cluster.cluster import Cluster, ClusterLayout
    from index.cluster.merged import ShardedIndexes

    servers = Cluster(
        settings.cluster,
        catalog.storage,
        ClusterLayout(
            settings.shards, settings.replicas, settings.shard_cpus, settings.shard_seconds
        ),
        models.fingerprint,
        models.calibration,
        secret=catalog.secret,
        release=__version__,
        device=settings.device,
    )
    servers.wait(settings.shard_seconds)
    return ShardedIndexes(servers, catalog, settings.data, models.calibration, synonyms)
