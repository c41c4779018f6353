"""Pictures in an object store, such as S3's or a compatible one's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

from index.failures import Busy
from index.pictures import NAME, REPAIR, THREADS, PictureLost, name_of

RETRIES = {"max_retries": 3, "retry_timeout": timedelta(seconds=10)}
ENDING = ".jpg"


class ObjectPictures:
    """Pictures as objects of a bucket, or below a path in it. For many threads and hosts.

    An object is there as a whole or not at all, so puts that are interrupted leave nothing behind.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    @classmethod
    def at(cls, url: str) -> ObjectPictures:
        """The store at s3://BUCKET/PATH, gs://, az:// or file://; credentials by environment.

        ValueError for another kind of URL.
        """
        try:
            return cls(from_url(url, retry_config=RETRIES))  # type: ignore[call-overload]
        except (BaseError, ValueError) as unknown:
            raise ValueError(
                f"pictures cannot be kept at {url}: {unknown}; name a folder, or s3://BUCKET/PATH"
            ) from unknown

    def put(self, pictures: Mapping[str, bytes]) -> None:
        """See Pictures."""
        self._each(lambda name: obstore.put(self._store, _path(name), pictures[name]), pictures)

    def get(self, name: str) -> bytes:
        """See Pictures; Busy where the store cannot be reached."""
        try:
            with _reached():
                jpeg = bytes(obstore.get(self._store, _path(name)).bytes())
        except FileNotFoundError as missing:
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
        there = set(names)
        with _reached():  # stores that are folders complain of what is not there
            obstore.delete(self._store, [_path(name) for name in there - self.missing(there)])

    def names(self) -> Iterator[str]:
        """See Pictures."""
        with _reached():
            for part in obstore.list(self._store):
                for found in part:
                    name = found["path"].rpartition("/")[2].removesuffix(ENDING)
                    if NAME.fullmatch(name) and found["path"].endswith(_path(name)):
                        yield name

    def delete_partial(self) -> None:
        """See Pictures: there is nothing to delete."""

    def _each(self, work: Callable[[str], object], names: Iterable[str]) -> None:
        """Do some work for every name, many at once."""
        with _reached(), ThreadPoolExecutor(THREADS) as pool:
            for done in [pool.submit(work, name) for name in names]:
                done.result()


def _path(name: str) -> str:
    return f"{name[:3]}/{name}{ENDING}"


@contextmanager
def _reached() -> Iterator[None]:
    """Say of every failure but a missing object, a FileNotFoundError, that it may pass."""
    try:
        yield
    except BaseError as failed:
        raise Busy("the picture store cannot be reached; try again in a moment") from failed
