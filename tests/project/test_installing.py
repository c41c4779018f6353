"""The documents' commands of installing, tried in a fresh checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from models import extras

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("client/*.md"), *ROOT.glob("docs/**/*.md")]
BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INSTALLING = re.compile(r"make (?:install|wheel)|uv |pip install")
INLINE = re.compile(r"`((?:make install|pip install) [^`]+)`")
FIRST = "docs/use/install.md"  # its commands follow each other


def find_commands(file: Path) -> list[str]:
    text = file.read_text("utf-8")
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
    commands = [line.partition("  #")[0].strip() for line in lines if INSTALLING.match(line)]
    return commands + INLINE.findall(text)


def list_commands() -> list[str]:
    """List all commands once, those of the first page first."""
    first = find_commands(ROOT / FIRST)
    others = sorted({command for file in DOCUMENTS for command in find_commands(file)})
    hints = [extras.install(extra) for extra in ("video", "tracing")]  # as messages say
    commands = dict.fromkeys([*first, *others, *hints])
    # An environment for GPUs is another one, of 7.5 GB.
    return [command for command in commands if "DEVICE=cuda" not in command]


def test_the_commands_are_found() -> None:
    commands = list_commands()
    assert commands[0] == "make install"
    assert {"make wheel", "pip install ./client", "make install EXTRAS=cluster"} <= set(commands)


@pytest.mark.slow
def test_the_commands_install_in_a_fresh_checkout(tmp_path: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    tools = tmp_path / ".venv" / "bin"
    system = [path for path in os.environ["PATH"].split(os.pathsep) if ".venv" not in path]
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "PATH": os.pathsep.join([str(tools), *system]),
        "VIRTUAL_ENV": str(tmp_path / ".venv"),
    }
    for command in list_commands():
        if not (tmp_path / ".venv" / "cpu.options").exists() or "torch-backend" in (
            tmp_path / ".venv" / "cpu.options"
        ).read_text("utf-8"):
            tried = command
        else:  # the index of CPU builds cannot be reached from here, as `make` said
            tried = command.replace(" --torch-backend cpu", "")
        ran = subprocess.run(  # noqa: S603 - the documents' own
            ["/bin/bash", "-c", tried],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    for python in (tools / "python", tmp_path / "other" / "bin" / "python"):
        subprocess.run([python.parent / "tessera", "--help"], check=True, capture_output=True)  # noqa: S603
    subprocess.run([tools / "python", "-c", "import av, pyarrow, tessera_client"], check=True)  # noqa: S603
