"""Folders in messages of databases."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from index.database.addresses import describe_surroundings
from index.database.engines import url_of

ROOT = Path(__file__).parents[3]
DESCRIBE = """
import os, sys
from pathlib import Path
from index.database.addresses import describe_surroundings
from index.database.engines import url_of
url = url_of("", Path(sys.argv[1]))  # imports end here
os.setuid(int(sys.argv[2]))
print(describe_surroundings(url))
"""
FULL = 'mount -t tmpfs -o size=64k none "$0" && head -c 100000 /dev/zero > "$0/photo"; exec "$@"'


def describe(folder: Path, *before: str, user: int = 0) -> str:
    ran = subprocess.run(  # noqa: S603 - our own command
        [*before, sys.executable, "-c", DESCRIBE, folder, str(user)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


def test_a_folder_that_takes_writes_adds_nothing(tmp_path: Path) -> None:
    assert describe_surroundings(url_of("", tmp_path)) == ""


@pytest.mark.system
def test_a_folder_of_another_user_is_told() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to be another user")
    with TemporaryDirectory() as folder:  # pytest's are of one user alone
        Path(folder).chmod(0o755)
        said = describe(Path(folder), user=65532)
    assert said.endswith("is of user 0, and user 65532 may not write to it")


@pytest.mark.system
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("needs root and unshare, to mount a folder for one process")
    alone = [unshare, "-m", "sh", "-c", FULL, tmp_path]
    if subprocess.run([*alone, "true"], check=False).returncode:  # noqa: S603
        pytest.skip("no folder can be mounted here")
    said = describe(tmp_path, *map(str, alone))
    assert said == f"; the folder {tmp_path} takes no writes: No space left on device"
