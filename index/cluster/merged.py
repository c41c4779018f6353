"""Search over remote shards, as of one revision, with merged answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from index.catalog.catalog import Catalog
from index.cluster.server import together
from index.database.errors import NotReady
from index.documents.thesaurus import Synonyms
from index.items import Collection
from index.search.contenders import Contenders, ShardAnswer
from index.search.index import Index
from index.search.indexes import Indexes
from index.search.overview import Overview
from index.search.probable import ProbableRows
from index.search.query import terms_of
from index.search.requests import Answer, Request, Shortlist
from index.segments.rows import Numbers, Side
from models.scores.calibration import Calibration
from models.text.queries import Query

TRIES = 4  # to find a revision that all shards can answer


@dataclass(frozen=True, slots=True)
class Gathered:
    """The answers of shards in time, and their share of buckets."""

    answers: tuple[Any, ...]
    coverage: float


class Servers(Protocol):
    """The servers of all shards. Safe for many threads."""

    def ask(self, method: str, *arguments: Any) -> Gathered:
        """Call a method of each shard's index.cluster.server.ShardServer.

        Raises errors of the caller there; a shard that does not answer is left out.
        """
        ...

    def tell(self, method: str, *arguments: Any) -> None:
        """Call a method of every ready server, without waiting."""
        ...

    def ready(self) -> list[int]:
        """Count the ready servers of each shard."""
        ...

    def close(self) -> None:
        """Disconnect from the servers."""
        ...


class ShardedIndex(Index):
    """A collection searched by shards; its documents and bags are here."""

    def __init__(
        self,
        servers: Servers,
        catalog: Catalog,
        collection: Collection,
        directory: Path,
        *,
        calibration: Calibration | None = None,
        synonyms: Synonyms | None = None,
    ) -> None:
        super().__init__(
            catalog,
            collection,
            directory,
            calibration=calibration,
            synonyms=synonyms,
            report=partial(servers.tell, "report", collection),  # to all: one shard has the row
        )
        self._servers = servers

    def start(self) -> None:
        """Follow the catalog's documents in the background; shards follow it by themselves."""
        self.documents.start()

    def best(self, request: Request) -> Answer:
        """The best hits of all shards, as of one revision.

        Errors are those of Index.best.
        If a shard does not answer in time, the hits of the others, and their coverage.
        """
        request = self._scanner.prepare(request)
        terms = terms_of(request.query, request.role)
        newest = revision = self._catalog.revision(self._collection)
        for _ in range(TRIES):
            gathered = self._servers.ask("best", self._collection, request, revision)
            parts: Sequence[ShardAnswer] = gathered.answers
            reached = min((part.revision for part in parts), default=revision)
            contenders = Contenders.together([part.contenders for part in parts])
            best = self._exact.best(contenders, request, terms)
            gone = bool(best.vanished) or any(part.gone for part in parts)
            if reached < revision:
                revision = reached  # what one shard has not taken in yet, no other shows
            elif gone and revision == newest:
                newest = self._catalog.revision(self._collection)
                if newest == revision:  # nothing has changed that would have taken them away
                    for lost in set(best.vanished):
                        self.report(lost)
                revision = newest
            else:
                break
        answer = Answer(
            tuple(best.hits[: request.limit]),
            exact=all(part.exact for part in parts),
            candidates=sum(part.candidates for part in parts),
            rows=sum(part.rows for part in parts),
            behind=newest - reached,
            more=len(best.hits) > request.limit,
            damaged=tuple(sorted(best.damaged)),
            coverage=gathered.coverage,
            weak_below=self._scanner.find_weak_line(request, parts),
        )
        if not answer.exact:
            self._recent.append(replace(request, groups=None))
        return answer

    def shortlist(
        self, side: Side, query: Query, count: int, revisions: Numbers | None = None
    ) -> Shortlist:
        """See Index.shortlist; of each shard so many."""
        gathered = self._servers.ask("promising", self._collection, side, query, count, revisions)
        return together(gathered.answers, gathered.coverage)

    def find_probable(self, request: Request) -> ProbableRows:
        """See Index.find_probable; of each shard as of its own revision."""
        gathered = self._servers.ask("probable", self._collection, request)
        parts: Sequence[ProbableRows] = gathered.answers
        behind = max((part.behind for part in parts), default=0)
        return ProbableRows.together(parts, gathered.coverage, behind)

    def overview(self) -> Overview:
        """How all shards search the collection."""
        gathered = self._servers.ask("overview", self._collection)
        return Overview.together(gathered.answers, gathered.coverage)

    @property
    def unpublished(self) -> int:
        """The number of changes that some shard has not published."""
        return self.overview().unpublished


class ShardedIndexes(Indexes):
    """The indexes of collections in shards.

    Shards follow the catalog by themselves.
    """

    def __init__(
        self,
        servers: Servers,
        catalog: Catalog,
        folder: Path,
        calibration: Calibration | None,
        synonyms: Synonyms | None = None,
    ) -> None:
        super().__init__(catalog, folder, calibration, "cpu", synonyms)
        self._servers = servers
        self._complete = False  # whether all shards have answered at some time

    def check(self) -> dict[str, str]:
        """How many shards answer; NotReady until all have, and where none does."""
        up = [count > 0 for count in self._servers.ready()]
        self._complete |= all(up)
        answering = f"{sum(up)} of {len(up)}"
        if not self._complete or not any(up):
            raise NotReady(f"{answering} shards of the cluster answer")
        return {"shards": answering}

    def close(self) -> None:
        """Close all indexes and connections; the servers go on for others."""
        super().close()
        self._servers.close()

    def build(self) -> None:
        """Nothing: each shard builds what it is quick by."""

    def _open_index(self, collection: Collection) -> Index:
        return ShardedIndex(
            self._servers,
            self.catalog,
            collection,
            self._folder,
            calibration=self._calibration,
            synonyms=self._synonyms,
        )

    def _needs_follower(self) -> bool:
        self._close_dropped()
        return False
