"""Commands as the first process of a container."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# The signal comes while the models load.
SERVE = "tessera serve --no-sample --port 0"


@pytest.mark.system
@pytest.mark.parametrize("command", [SERVE, "tessera index photos --watch"])
def test_sigterm_ends_it_at_once(command: str, tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("needs root and unshare, for a namespace of processes")
    (tmp_path / "photos").mkdir()
    probe = "import tessera, app.torch_import as first; first.import_torch = wait; tessera.main()"
    wait = "def wait(device):\n    print('loading', flush=True)\n    time.sleep(60)\n"
    started = subprocess.Popen(  # noqa: S603 - our own command
        [
            *(unshare, "--pid", "--fork", "--kill-child", "--mount-proc"),
            *(sys.executable, "-c", f"import time\n{wait}{probe}", *command.split()[1:]),
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TESSERA_DATA": str(tmp_path / "data")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with started:
        assert started.stdout is not None
        assert started.stderr is not None
        if started.stdout.readline() != "loading\n":
            pytest.skip(f"no namespace can be made here: {started.stderr.read()}")
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)
        try:
            assert started.wait(20) == 128 + signal.SIGTERM
        finally:
            started.kill()
