"""Photos' memory is reused during work, then given back."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHECK = """
import re
import resource
from pathlib import Path
from app import memory

assert memory.hold()

def megabytes():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def work():
    buffers = [bytearray(b"x") * (size * 2**20) for size in range(1, 15)]  # 105 MB
    kept = bytearray(2**16)
    return kept

before = megabytes()
kept = [work()]
first = faults()
kept += [work() for _ in range(8)]
assert faults() < first + 8 * 2**8 * 5, "mapped again"  # 5 MB of 105, a page has 4 KB
memory.give_back()
assert megabytes() < before + 20, (before, megabytes())
"""


@pytest.mark.system
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's options")
def test_large_buffers_are_used_again_and_leave_nothing_behind() -> None:
    subprocess.run([sys.executable, "-c", CHECK], check=True)  # noqa: S603 - our own command
