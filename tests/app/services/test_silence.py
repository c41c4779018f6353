"""Commands and services tell nobody of themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[3]
# Every process of ours writes down whom it looks up.
NOTE = """
import os, sys

def note(event, facts):
    if event == "socket.getaddrinfo":
        with open(os.environ["LOOKED_UP"], "a") as file:
            file.write(f"{facts[0]}\\n")

sys.addaudithook(note)
"""
AUTOMATIC = ("CI", "TF_BUILD", "JENKINS_URL")  # where packages report nothing anyway


@pytest.mark.system
def test_photos_are_indexed_and_searched_without_a_word_to_others(
    tmp_path: Path, small_matcher: Path
) -> None:
    home, hooks, looked_up = (tmp_path / name for name in ("home", "hooks", "looked_up"))
    home.mkdir()
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(NOTE)
    Image.new("RGB", (64, 64), "red").save(tmp_path / "red.png")
    environment = {name: text for name, text in os.environ.items() if name not in AUTOMATIC} | {
        "PYTHONPATH": os.pathsep.join([str(hooks), str(ROOT)]),
        "HOME": str(home),
        "LOOKED_UP": str(looked_up),
        "TESSERA_DATA": str(tmp_path / "data"),
        "TESSERA_MATCHER": str(small_matcher),
        "TESSERA_INFERENCE": "auto",  # with OpenVINO, where it is installed
    }
    for arguments in (("index", "red.png"), ("search", "a red circle")):
        ran = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "tessera", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
    assert not looked_up.exists(), looked_up.read_text()
    assert [path.name for path in home.iterdir()] == []
