"""Imports on a Ray cluster: Ray Data reads, decodes, embeds and stores.

Ray Data slows the reading down to the speed of embedding. The database has the finished items, so
that an interrupted import continues when it is run again.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import ray
import ray.data
from numpy.typing import NDArray
from ray.data import ActorPoolStrategy, DataContext

from app import priority
from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.imports import settling, source_reading, storing
from app.imports.fetching import choose_fetch
from app.imports.photo_decoders import Allowance, Decoders
from app.imports.sources import ImportOutcome, ItemSource
from app.settings import Settings
from index.cluster.cluster import connect
from index.items import Collection

WINDOW = 20_000  # sources that are on their way at a time
# Settings that actors do not need: keys, models that do not embed, and the cluster, as they do not
# search.
WITHOUT: dict[str, Any] = dict.fromkeys(
    ("read_key", "write_key", "admin_key", "captioner", "grounder")
) | {"cluster": ""}
Columns = Mapping[str, NDArray[Any]]  # of one batch; "value" holds pickled values as bytes


class SourceReader:
    """Reads and decodes photos: batches of sources to batches of drafts."""

    def __init__(self, settings: Settings) -> None:
        priority.lower(priority.BACKGROUND)
        self._decode = Decoders(1, Allowance.of(settings))
        self._most = settings.upload_bytes
        self._fetch = choose_fetch(settings)

    def __call__(self, batch: Columns) -> Columns:
        """Return a batch's drafts, or their errors, in order."""
        return pack([self._read(source) for source in unpack(batch)])

    def _read(self, source: ItemSource) -> Draft | ImportOutcome:
        return source_reading.read(source, self._most, self._decode, self._fetch)


class DraftStorer:
    """Embeds and stores drafts: a batch of them in, of outcomes out."""

    def __init__(
        self, settings: Settings, collection: str, home: Collection, *, overwrite: bool
    ) -> None:
        priority.lower(priority.BACKGROUND)  # searches on the same node come first
        self._engine = Engine.load(settings)
        self._collection, self._home = collection, home
        self._overwrite = overwrite

    def __call__(self, batch: Columns) -> Columns:
        """Store a batch; return outcomes.

        A draft that a lost call has stored is not stored again.
        """
        ready: list[Draft | ImportOutcome] = unpack(batch)
        stamps = {
            draft.source: draft.stamp
            for draft in ready
            if isinstance(draft, Draft) and draft.source
        }
        known = self._engine.catalog.stamps(self._home, [*stamps])
        unchanged = {place for place, stamp in known.items() if stamp == stamps[place]}
        new = [
            entry
            for entry in ready
            if isinstance(entry, ImportOutcome) or entry.source not in unchanged
        ]
        stored = storing.store(
            self._engine, self._collection, self._home, new, overwrite=self._overwrite
        )
        return pack([*(ImportOutcome(place, "stored") for place in unchanged), *stored])


def import_sources(
    engine: Engine,
    collection: str,
    incoming: Iterable[ItemSource | ImportOutcome],
    settings: Settings,
    *,
    overwrite: bool = False,
) -> Iterator[ImportOutcome]:
    """Store sources by a cluster, and yield the outcome of each.

    Does what `app.imports.storing.import_sources` does. The nodes read the files at the same paths
    as this process. Raises OSError without a cluster, and Replaced after the sources that were on
    their way.
    """
    connect(settings.cluster)
    settings = settings.model_copy(update=WITHOUT)
    DataContext.get_current().enable_progress_bars = False
    home = engine.open(collection, create=True)
    if overwrite:
        incoming = storing.refuse_repeated(incoming)
    stream = settling.settle_known(engine, collection, home, incoming, settings.upload_bytes)
    for part in settling.split_stream(stream, WINDOW):
        yield from (outcome for outcome in part if isinstance(outcome, ImportOutcome))
        sources, taken = _deduplicate([source for source in part if isinstance(source, ItemSource)])
        yield from taken
        if sources:
            yield from _store(sources, collection, home, settings, overwrite=overwrite)
            engine.catalog.names.check(collection, home)


def _store(
    sources: Sequence[ItemSource],
    collection: str,
    home: Collection,
    settings: Settings,
    *,
    overwrite: bool,
) -> Iterator[ImportOutcome]:
    """Yield the outcomes of new sources, in any order."""
    blocks = -(-len(sources) // settings.batch)
    most, about = _measure_resources(settings)
    embedders = min(most, blocks)
    rows = [{"value": pickle.dumps(source)} for source in sources]
    outcomes = (
        ray.data.from_items(rows, override_num_blocks=blocks)
        .map_batches(
            SourceReader,
            fn_constructor_args=(settings,),
            batch_size=settings.batch,
            compute=ActorPoolStrategy(min_size=1, max_size=embedders),
            num_cpus=0,  # a tenth of what embedding takes
        )
        .map_batches(
            DraftStorer,
            fn_constructor_args=(settings, collection, home),
            fn_constructor_kwargs={"overwrite": overwrite},
            batch_size=settings.batch,
            compute=ActorPoolStrategy(size=embedders, max_tasks_in_flight_per_actor=2),
            **about,
        )
    )
    for batch in outcomes.iter_batches(batch_size=None, batch_format="numpy"):
        yield from unpack(batch)


def _measure_resources(settings: Settings) -> tuple[int, dict[str, float]]:
    """Return the number of embedding actors, and Ray's resources for each."""
    resources = ray.available_resources()
    if settings.device.startswith("cuda"):
        return max(1, int(resources.get("GPU", 0))), {"num_gpus": 1, "num_cpus": 0.5}
    threads = settings.threads or 1
    return max(1, int(resources.get("CPU", 0) / threads)), {"num_cpus": float(threads)}


def _deduplicate(sources: Sequence[ItemSource]) -> tuple[list[ItemSource], list[ImportOutcome]]:
    """Keep the first source of each id and refuse the others.

    Actors would not see each other's ids.
    """
    first: dict[str, ItemSource] = {}
    refused = []
    for source in sources:
        owner = first.setdefault(source.id, source)
        if owner.place != source.place and source.spare_id is not None:
            spare = replace(source, id=source.spare_id)
            owner = first.setdefault(spare.id, spare)
        if owner.place != source.place:
            refused.append(storing.refuse_taken(source.id, source.place, owner.place))
    return list(first.values()), refused


def pack(values: Sequence[Any]) -> Columns:
    """Values as a batch of one column."""
    column = np.empty(len(values), dtype=object)
    column[:] = [pickle.dumps(value) for value in values]
    return {"value": column}


def unpack(batch: Columns) -> list[Any]:
    """Unpack the values of a batch of our own actors."""
    return [pickle.loads(pickled) for pickled in batch["value"]]  # noqa: S301
