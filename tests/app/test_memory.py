"""What large buffers took goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHECK = """
import re
from pathlib import Path
from app import memory

assert memory.give_back()

def megabytes():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

before = megabytes()
for size in range(1, 24):  # each larger than the last: glibc raises its threshold with them
    buffers = [bytearray(b"x") * (size * 2**20) for _ in range(4)]
    kept = bytearray(2**16)
    del buffers
assert megabytes() < before + 20, (before, megabytes())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's options")
def test_large_buffers_leave_nothing_behind() -> None:
    subprocess.run([sys.executable, "-c", CHECK], check=True)  # noqa: S603 - our own command
