"""Workers: ordered parts, nested work, and failures."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from models.threads import Workers, count_cores


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("parts", [0, 1, 2, 100])
def test_what_is_done_comes_in_the_order_of_the_parts(threads, parts, alone):
    done = Workers(threads).map(lambda part: part**2, range(parts), alone=alone)
    assert done == [part**2 for part in range(parts)]


def test_two_threads_work_at_the_same_time():
    both = threading.Barrier(2)
    assert Workers(2).map(lambda _: both.wait(30) >= 0, range(2)) == [True, True]


def test_alone_means_the_thread_that_asks():
    own = threading.get_ident()
    assert set(Workers(4).map(lambda _: threading.get_ident(), range(50), alone=True)) == {own}


def test_work_within_work_of_many_threads_comes_to_an_end():
    """More threads than workers ask, from workers, too."""
    workers = Workers(2)

    def outer(number):
        return sum(workers.map(lambda part: part * number, range(10)))

    with ThreadPoolExecutor(8) as askers:
        asked = [askers.submit(workers.map, outer, range(20)) for _ in range(40)]
        assert all(one.result(60) == [45 * number for number in range(20)] for one in asked)


@pytest.mark.parametrize("wrong", [0, 7, 19])
def test_a_failure_comes_out_when_nobody_works_any_more(wrong):
    working = threading.Semaphore(0)

    def work(part):
        if part == wrong:
            raise ValueError(f"part {part}")
        working.acquire(timeout=0.01)
        ended.append(part)

    ended = []
    with pytest.raises(ValueError, match=f"part {wrong}"):
        Workers(3).map(work, range(20))
    before = list(ended)
    working.acquire(timeout=0.1)
    assert ended == before
    assert Workers(3).map(lambda part: part, range(3)) == [0, 1, 2]


LIMITS = {
    "a core and a half": ({"cpu.max": "150000 100000\n"}, 2),
    "half a core": ({"cpu.max": "50000 100000\n"}, 1),
    "more than there are": ({"cpu.max": "900000000 100000\n"}, None),
    "no quota": ({"cpu.max": "max 100000\n"}, None),
    "version 1": ({"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
    "version 1, no quota": (
        {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
        None,
    ),
    "none": ({}, None),
    "something else": ({"cpu.max": "fast"}, None),
}


@pytest.mark.parametrize(("files", "expected"), LIMITS.values(), ids=LIMITS)
def test_cores_are_those_of_the_containers_quota(tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    cores = len(os.sched_getaffinity(0))
    assert count_cores(tmp_path) == min(expected or cores, cores)
