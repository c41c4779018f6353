"""Pictures in an object store, such as S3."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import ObjectStore, from_url

from index.catalog.pictures import NAME, REPAIR, THREADS, PictureLost, name_of
from index.database.errors import StoreAway

OPTIONS: dict[str, Any] = {
    "retry_config": {"max_retries": 3, "retry_timeout": timedelta(seconds=10)},
    "client_options": {
        "allow_http": True,  # for an endpoint without TLS
        "connect_timeout": timedelta(seconds=3),
        "timeout": timedelta(seconds=15),
    },
}
ENDING = ".jpg"
PROBE = "writable"  # an object without content
NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist")

log = logging.getLogger(__name__)


class ObjectPictures:
    """Pictures as objects of a bucket, or below a path in it.

    Safe for many threads and hosts.
    An object exists as a whole or not at all, so interrupted puts leave nothing behind.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    @classmethod
    def at(cls, url: str) -> ObjectPictures:
        """Open the store at s3://BUCKET/PATH, gs://, az:// or file://.

        The environment has the credentials.

        Sends no request, see `check`.

        Raises ValueError for another kind of URL.
        """
        try:
            return cls(from_url(url, **OPTIONS))
        except (BaseError, ValueError) as unknown:
            why = str(unknown).partition("\n")[0]
            raise ValueError(
                f"pictures cannot be kept at {url}: {why}; name a folder, or s3://BUCKET/PATH"
            ) from unknown

    def put(self, pictures: Mapping[str, bytes]) -> None:
        """See Pictures."""
        self._each(lambda name: obstore.put(self._store, _path(name), pictures[name]), pictures)

    def get(self, name: str) -> bytes:
        """See Pictures."""
        with _translate_errors():
            try:
                jpeg = bytes(obstore.get(self._store, _path(name)).bytes())
            except FileNotFoundError as missing:
                if _lacks_bucket(missing):
                    raise
                raise PictureLost(f"picture {name} is missing; {REPAIR}") from missing
        if name_of(jpeg) != name:
            raise PictureLost(f"picture {name} is damaged; {REPAIR}")
        return jpeg

    def missing(self, names: Iterable[str]) -> set[str]:
        """See Pictures."""
        lost = set[str]()

        def look(name: str) -> None:
            try:
                obstore.head(self._store, _path(name))
            except FileNotFoundError:
                lost.add(name)

        self._each(look, names)
        return lost

    def delete(self, names: Iterable[str]) -> None:
        """See Pictures."""
        gone = set(names)
        with _translate_errors():
            try:
                obstore.delete(self._store, [_path(name) for name in gone])
            except FileNotFoundError as absent:
                if _lacks_bucket(absent):
                    raise
                # Stores that are folders fail for missing objects.
                remaining = gone - self.missing(gone)
                obstore.delete(self._store, [_path(name) for name in remaining])

    def names(self) -> Iterator[str]:
        """See Pictures."""
        with _translate_errors():
            for part in obstore.list(self._store):
                for entry in part:
                    name = entry["path"].rpartition("/")[2].removesuffix(ENDING)
                    if NAME.fullmatch(name) and entry["path"] == _path(name):
                        yield name

    def delete_partial(self, older: float) -> int:  # noqa: ARG002 - see Pictures
        """See Pictures: there is nothing to delete."""
        return 0

    def read_note(self, name: str) -> bytes | None:
        """See Pictures: an object of this name."""
        with _translate_errors():
            try:
                return bytes(obstore.get(self._store, name).bytes())
            except FileNotFoundError as missing:
                if _lacks_bucket(missing):
                    raise
                return None

    def write_note(self, name: str, content: bytes, *, new: bool = False) -> bool:
        """See Pictures: a new note by a conditional put.

        Some stores ignore the condition.
        """
        with _translate_errors():
            try:
                obstore.put(self._store, name, content, mode="create" if new else "overwrite")
            except AlreadyExistsError:
                return False
        return True

    def check(self) -> None:
        """See Pictures: writes an object under one name, no picture."""
        with _translate_errors():
            obstore.put(self._store, PROBE, b"")

    def _each(self, work: Callable[[str], object], names: Iterable[str]) -> None:
        """Do some work for every name, in parallel.

        None begins after a failure.
        """
        with _translate_errors(), ThreadPoolExecutor(THREADS) as pool:
            for _ in pool.map(work, names):
                pass


def _path(name: str) -> str:
    return f"{name[:3]}/{name}{ENDING}"


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise StoreAway for the store's failures and for unexpected missing objects."""
    try:
        yield
    except (BaseError, FileNotFoundError) as failed:
        why = _explain(failed)
        log.warning("%s: %s", why, str(failed).partition("\n")[0])
        raise StoreAway(why) from failed


def _explain(failed: Exception) -> str:
    denied = isinstance(failed, PermissionDeniedError | UnauthenticatedError)
    if denied or "403 Forbidden" in str(failed):  # lists have no error of their own for it
        return "the picture store refuses the credentials, or what is asked with them"
    if isinstance(failed, FileNotFoundError) or _lacks_bucket(failed):
        return "the picture store has no bucket of this name"
    return "the picture store cannot be reached; try again in a moment"


def _lacks_bucket(failed: Exception) -> bool:
    """Return whether the bucket is missing.

    Stores give a missing object the same status.
    """
    return any(phrase in str(failed) for phrase in NO_BUCKET)
