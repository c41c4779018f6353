"""Sync of products: a collection follows a list, with few writes.

The work is a generator of calls that receives their answers, so that it serves both clients.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import (
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tessera_client import calls
from tessera_client.calls import Call, Filter
from tessera_client.errors import TesseraError
from tessera_client.items import NewItem, batches, check_item
from tessera_client.reading import Items, give_to_thread
from tessera_client.stamps import add_stamp, has_same_content

MOST_DELETED = 0.1  # of the items that are there
TOGETHER = 1_000  # items that are compared, or deleted, at a time
OF_ITEMS = (409, 412, 413, 422)  # statuses that refuse one item, and say nothing of others


@dataclass(slots=True)
class Report:
    """Counts of a sync; `refused` has ids and reasons."""

    read: int = 0
    stored: int = 0
    patched: int = 0
    unchanged: int = 0
    deleted: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


class TooManyGone(RuntimeError):
    """The sync would delete too many items; everything else is done.

    `ids` are those items. Call `sync` again with a larger `most_deleted`, or with the whole list.
    """

    def __init__(self, ids: Sequence[str], total: int, most: float) -> None:
        super().__init__(
            f"{len(ids):,} of {total:,} items are not in the list, and {most:.0%} at most may be "
            f"deleted: nothing was. Is the list whole? most_deleted=1 allows it"
        )
        self.ids, self._shares = list(ids), (total, most)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the ids and shares."""
        return type(self), (self.ids, *self._shares), self.__dict__


Progress = Callable[[Report], None]
Work = Generator[Call[Any], Any, Report]


def sync(
    items: Iterable[NewItem],
    *,
    filter: Filter | None = None,  # noqa: A002 - the service's own name
    most_deleted: float = MOST_DELETED,
    progress: Progress | None = None,
) -> Work:
    """Make a collection equal to a list of items.

    The service keeps a stamp of each item: `NewItem.stamp`, or a digest of its content, with the
    bytes of photos, their address, or their size and time. An item with a new stamp is stored; if
    only its metadata have changed, they are patched and nothing is embedded again. Stored items
    that pass `filter` and are not in the list are deleted in the end, unless they are more than the
    share `most_deleted`: a list that is empty by mistake then deletes nothing, and 1 allows all.
    Repeat an interrupted call to continue it. A refused item stays as it was, and so does an item
    with a missing photo. Of several items with one id, the first counts. An item without an id is
    refused; as any stored item may be it, ValueError is raised in the end if any would be deleted.
    Raises ValueError for a share outside 0 to 1, too.
    """
    if not 0 <= most_deleted <= 1:
        raise ValueError(f"most_deleted is a share from 0 to 1, got {most_deleted}")
    report = Report()
    yield calls.upload(b"")  # which makes a collection that is new
    stamps = yield from _list_stamps(filter)
    listed_ids: set[str] = set()
    unnamed: list[int] = []
    stream = _select_new(items, listed_ids, unnamed, report)
    while part := list(islice(stream, TOGETHER)):
        changed = [item for item in part if stamps.get(item.id) != item.stamp]
        report.unchanged += len(part) - len(changed)
        alike = {item.id for item in changed if has_same_content(stamps.get(item.id), item)}
        patchable = [item for item in changed if item.id in alike]
        moved = yield from _patch(patchable, stamps, report)
        others = [item for item in changed if item.id not in alike]
        yield from _store([*others, *moved], report, progress)
        _tell(progress, report)
    gone = sorted(stamps.keys() - listed_ids)
    if gone and unnamed:
        raise ValueError(
            f"{len(unnamed):,} of {report.read:,} items have no id, the first is item "
            f"{unnamed[0]:,}: which stored ones are not in the list is unknown, so nothing was "
            f"deleted. Give each a text as its id and sync again"
        )
    if len(gone) > most_deleted * len(stamps):
        raise TooManyGone(gone, len(stamps), most_deleted)
    for start in range(0, len(gone), TOGETHER):
        answer = yield calls.delete_items(ids=gone[start : start + TOGETHER])
        report.deleted += answer.deleted
        _tell(progress, report)
    return report


def _list_stamps(where: Filter | None) -> Generator[Call[Any], Any, dict[str, str | None]]:
    """List the stamps of stored items, by id."""
    stamps: dict[str, str | None] = {}
    cursor: str | None = None
    while True:
        page = yield calls.list_items(filter=where, cursor=cursor)
        stamps.update((item.id, item.stamp) for item in page.items)
        if (cursor := page.cursor) is None:
            return stamps


def _select_new(
    items: Iterable[NewItem], listed_ids: set[str], unnamed: list[int], report: Report
) -> Iterator[NewItem]:
    """Yield items with a new id and all photos, with stamps.

    `unnamed` gets the numbers of items without an id, from 1.
    """
    for item in items:
        report.read += 1
        try:
            name = _get_id(item)
        except TypeError as wrong:
            unnamed.append(report.read)
            report.refused.append(("", f"item {report.read}: {wrong}"))
            continue
        twice = name in listed_ids
        listed_ids.add(name)
        try:
            stamped = add_stamp(item)
        except (OSError, TypeError, ValueError) as wrong:  # a lost photo, or what is no JSON
            report.refused.append((name, str(wrong)))
            continue
        if twice:
            report.refused.append((name, "its id comes twice"))
        else:
            yield stamped


def _get_id(item: Any) -> str:
    """Return an item's id; TypeError for another type, or no id."""
    name: Any = check_item(item).id
    if not isinstance(name, str) or not name.strip():
        raise TypeError(f"its id is {name!r:.80}, and an id is a text that is not blank")
    return name


def _patch(
    items: Sequence[NewItem], stamps: Mapping[str, str | None], report: Report
) -> Generator[Call[Any], Any, Sequence[NewItem]]:
    """Patch the metadata of items with unchanged photos and sentences.

    Returns items that someone else, such as another sync, has deleted or changed since: a patch
    would mix both versions, so these are stored whole.
    """
    moved = []
    for item in items:
        try:
            stored, tag = yield calls.get_tagged_item(item.id)
            if stored.stamp != stamps[item.id]:
                moved.append(item)
                continue
            change = compare(stored.metadata, item.metadata)
            yield calls.patch_item(item.id, change, stamp=item.stamp, match=tag)
        except TesseraError as refused:
            if refused.status in (404, 412):
                moved.append(item)
            elif refused.status in OF_ITEMS:
                report.refused.append((item.id, refused.detail))
            else:
                raise
        else:
            report.patched += 1
    return moved


def _store(
    items: Sequence[NewItem], report: Report, progress: Progress | None
) -> Generator[Call[Any], Any, None]:
    for batch in batches(items):
        sent = (yield calls.upload(bytes(batch.lines), create=False)) if batch.places else []
        for status in batch.place(sent):
            if status.status == "stored":
                report.stored += 1
            else:
                report.refused.append((status.id or "", status.reason or ""))
        _tell(progress, report)


def compare(was: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch (RFC 7396) from one object to another, except nulls.

    >>> compare({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 4}})
    {'a': None, 'b': {'c': 4, 'd': None}}
    """
    patch: dict[str, Any] = dict.fromkeys(was.keys() - now.keys())
    for key, value in now.items():
        before = was.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            patch[key] = compare(before, value)
        elif key not in was or json.dumps(before) != json.dumps(value):  # 1 is not true
            patch[key] = value
    return dict(sorted(patch.items()))


def _tell(progress: Progress | None, report: Report) -> None:
    if progress is not None:
        progress(report)


class ProductSync:
    """Products of a client's collection."""

    def __init__(self, send: Callable[[Call[Any]], Any]) -> None:
        self._send = send

    def sync(self, items: Iterable[NewItem], **options: Any) -> Report:
        """See tessera_client.products.sync."""
        work, answer = sync(items, **options), None
        while not isinstance(step := _next(work, answer), Report):
            try:
                answer = self._send(step)
            except TesseraError as refused:
                answer = refused
        return step


class AsyncProductSync:
    """As ProductSync, awaited; a thread of its own does the work."""

    def __init__(self, send: Callable[[Call[Any]], Awaitable[Any]]) -> None:
        self._send = send

    async def sync(self, items: Items, **options: Any) -> Report:
        """See tessera_client.products.sync."""
        run, loop, pool = copy_context().run, asyncio.get_running_loop(), ThreadPoolExecutor(1)
        try:
            async with give_to_thread(items) as source:
                work, answer = sync(source, **options), None
                while True:
                    step = await loop.run_in_executor(pool, run, _next, work, answer)
                    if isinstance(step, Report):
                        return step
                    try:
                        answer = await self._send(step)
                    except TesseraError as refused:
                        answer = refused
        finally:
            pool.shutdown(wait=False)


def _next(work: Work, answer: Any) -> Call[Any] | Report:
    """Return the next call, or the report.

    Raises what the work does not catch.
    """
    try:
        return work.throw(answer) if isinstance(answer, TesseraError) else work.send(answer)
    except StopIteration as stop:
        report: Report = stop.value
        return report
