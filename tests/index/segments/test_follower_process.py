"""Followers as processes: elected, killed, out of disk."""

import errno
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from statistics import median

import pytest
import torch

from index.catalog.catalog import Catalog
from index.database.storage import Storage
from index.items import Entry
from index.search.index import Index
from index.search.requests import Request
from index.segments import follower, manifest
from index.segments import follower_process as following
from models.text.queries import Query
from models.types import FragmentBag, Span

# Forks processes, which start at once as everything is imported: followers, whose numbers it tells,
# and writers, which say when they are done.
FORKING = """
import os, signal, sys, time, torch
from pathlib import Path
from threading import Event
from index.segments import follower
from index.segments import follower_process as following
from index.catalog.catalog import Catalog
from index.items import Entry
from models.types import FragmentBag, Span

following.RETRY = 0.1
signal.signal(signal.SIGCHLD, signal.SIG_IGN)

def follow(folder):
    sizes = follower.Sizes(chunk=8, least=1, quiet=0.0, largest=192)
    following.Followers(Catalog.in_folder(folder), folder, sizes).run(Event())

def write(folder, item):
    catalog = Catalog.in_folder(folder)
    bag = FragmentBag(torch.ones(1, 8), (Span(0, 1),), ("a",))
    catalog.replace(catalog.names.find("default"), Entry(item, sentences=("a",), bags=(bag,)))
    print(time.monotonic(), flush=True)

for line in sys.stdin:
    task, folder, *more = line.split()
    if (child := os.fork()) == 0:
        (follow if task == "follow" else write)(Path(folder), *more)
        os._exit(0)
    if task == "follow":
        print(child, flush=True)
"""


def until(condition, seconds=60.0):  # where others keep the machine busy
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return True


class Forking:
    """The script above, and its processes' errors in `log`."""

    def __init__(self):
        self.process = subprocess.Popen(  # noqa: S603 - our own lines above
            [sys.executable, "-c", FORKING],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        self.log = []
        self.reading = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reading.start()

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.process.stdout.readline()


@pytest.fixture(scope="module")
def forking():
    one = Forking()
    yield one
    one.process.kill()
    one.reading.join()
    with one.process:  # closes its files, and waits
        pass


@pytest.fixture
def spawn(catalog, tmp_path, forking):
    """Starts followers; their numbers."""
    children = []

    def start():
        children.append(int(forking.ask("follow", tmp_path / "data")))
        return children[-1]

    yield start
    for child in children:
        kill(child)


def kill(child):
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        return
    until(lambda: not alive(child))


def alive(child):
    try:
        os.kill(child, 0)
    except ProcessLookupError:
        return False
    return True


def texts(count, start=0):
    """Items of one sentence."""
    bag = FragmentBag(torch.ones(1, 8), (Span(0, 1),), ("a",))
    return [Entry(f"{start + i:05}", sentences=("a",), bags=(bag,)) for i in range(count)]


@pytest.fixture
def reached(collection, segments_folder):
    """The newest published revision."""

    def read():
        found = manifest.read(segments_folder / collection.token, collection.token)
        return found.until if found else 0

    return read


@pytest.fixture
def everything(sentence_bag):
    return Request("images", Query.of(sentence_bag(3)), limit=1_000)


def put_at_random(catalog, collection, entry, chance):
    new = [entry(f"{chance.randrange(60)}", sentences=1) for _ in range(chance.randint(1, 9))]
    catalog.put_many(collection, new)
    if chance.random() < 0.3:
        catalog.delete(collection, new[0].id)


def survives_kills(
    times, catalog, collection, segments_folder, spawn, reached, right, entry, asked
):
    """Kill working followers; searches are right, and all is published."""
    chance, reader = random.Random(times), Index(catalog, collection, segments_folder)
    for _ in range(times):
        child, moment = spawn(), time.monotonic() + chance.uniform(0.02, 0.6)
        while time.monotonic() < moment:
            put_at_random(catalog, collection, entry, chance)
        kill(child)
        assert right(asked, reader.best(asked))
        assert right(asked, Index(catalog, collection, segments_folder).best(asked))
    spawn()
    assert until(lambda: reached() == catalog.revision(collection))
    assert right(asked, Index(catalog, collection, segments_folder).best(asked))
    directory = segments_folder / collection.token
    del reader

    def tidy():
        listed = manifest.read(directory, collection.token).segments
        return {path.name for path in directory.glob("*/")} == {one.folder for one in listed}

    assert until(tidy)


def test_follower_that_is_killed_loses_and_tears_nothing(
    catalog, collection, segments_folder, spawn, reached, right, entry, everything
):
    survives_kills(
        3, catalog, collection, segments_folder, spawn, reached, right, entry, everything
    )


@pytest.mark.slow
def test_follower_may_be_killed_at_any_of_many_moments(
    catalog, collection, segments_folder, spawn, reached, right, entry, everything
):
    survives_kills(
        30, catalog, collection, segments_folder, spawn, reached, right, entry, everything
    )


def test_disk_without_room_ends_neither_follower_nor_searches(
    catalog, collection, segments_folder, forking, spawn, reached, right, entry, everything
):
    catalog.put_many(collection, [entry(f"{i}") for i in range(10)])
    child = spawn()
    assert until(lambda: reached() == 10)
    for room in (0, 100, 700):  # bytes a file: nothing, not even a header, and some of the files
        resource.prlimit(child, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        before = reached()
        forking.log.clear()
        catalog.put_many(collection, [entry(f"{room} {i}") for i in range(10)])
        assert until(lambda: "cannot be followed" in "".join(forking.log))
        assert until(lambda: re.search("File too large|disk I/O error", "".join(forking.log)))
        assert reached() == before
        index = Index(catalog, collection, segments_folder)
        assert right(everything, index.best(everything))
        resource.prlimit(
            child, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        )
        assert until(lambda: reached() == catalog.revision(collection))
    assert right(everything, Index(catalog, collection, segments_folder).best(everything))


def test_segment_that_cannot_be_published_leaves_no_files(
    catalog, collection, segments_folder, entry, monkeypatch
):
    directory = segments_folder / collection.token
    one = follower.Follower(catalog, collection, directory)
    catalog.put_many(collection, [entry(f"{i}") for i in range(3)])
    assert one.step(flush=True)
    before = set(directory.iterdir())
    catalog.put_many(collection, [entry(f"new {i}") for i in range(3)])

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "keep_marks", full)
        with pytest.raises(OSError, match="No space"):
            one.step(flush=True)
    assert set(directory.iterdir()) == before
    assert one.step(flush=True)


def test_item_of_another_process_is_found_within_a_second(
    catalog, collection, tmp_path, index, forking, image_bag
):
    index.start()
    asked = Request("sentences", Query.of(image_bag()), limit=100)
    took: list[float] = []
    for number in range(5):
        when = float(forking.ask("write", tmp_path / "data", number))
        until(lambda: len(index.best(asked).hits) == number + 1)  # noqa: B023 - called at once
        took.append(time.monotonic() - when)
    assert median(took) < 1, "the machine may be busy for some of them"


@pytest.mark.system
@pytest.mark.timeout(400)
def test_one_process_follows_and_the_next_takes_over_when_it_is_killed(
    catalog, collection, tmp_path, reached
):
    folder = tmp_path / "data"

    def elected():
        if (lock := following.elect(folder)) is None:
            return True
        os.close(lock)
        return False

    processes = [following.start(Storage(folder))]
    try:
        assert until(elected)
        processes.append(following.start(Storage(folder)))
        catalog.put_many(collection, texts(300))
        assert until(lambda: reached() == 300)
        processes[0].kill()
        processes[0].wait()
        catalog.put_many(collection, texts(300, start=300))
        assert until(lambda: reached() == 600)
        assert elected()
        assert processes[1].poll() is None
        processes[1].stdin.close()  # as when the process that started it ends
        assert processes[1].wait(10) == 0
        assert not elected()
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdin.close()


@pytest.mark.system
def test_follower_does_without_torch():
    """It would be most of the process's memory."""
    module = "index.segments.follower_process"
    code = f"import sys, {module}; assert not {{'torch', 'spacy'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own command
