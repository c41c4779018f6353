"""Commands start lean, and mistakes come before models load."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.listening import bind_socket

ROOT = Path(__file__).parents[3]
HEAVY = {"torch", "numba", "spacy", "torchvision", "transformers", "fastapi", "faiss", "sqlalchemy"}


def tessera(*arguments: object, **environment: str) -> tuple[int, str, set[str]]:
    """A fresh interpreter's command: exit code, output, heavy imports."""
    script = (
        "import sys, atexit, tessera\n"
        f"atexit.register(lambda: print('IMPORTED', *({HEAVY!r} & set(sys.modules))))\n"
        f"sys.argv[1:] = {[str(argument) for argument in arguments]!r}\n"
        "tessera.main()\n"
    )
    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    output, _, imported = ended.stdout.partition("IMPORTED")
    said = " ".join((output + ended.stderr).replace("│", " ").split())
    return ended.returncode, said, set(imported.split())


def printed(script: str) -> list[str]:
    """A script's output lines in a fresh interpreter."""
    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return ended.stdout.splitlines()


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["train", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code, said, imported = tessera(*arguments)
    assert (code, imported) == (0, set())
    assert "Usage" in said


@pytest.mark.system
@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        (["serve"], {"TESSERA_PORT": "abc"}, "TESSERA_PORT: 'abc'"),
        (["serve", "--port", 70000], {}, "--port: 70000"),
        (["search", "a dog"], {"TESSERA_DEVICE": "gpu"}, "TESSERA_DEVICE: 'gpu'"),
        (["index", "nowhere/photos"], {}, "does not exist"),
        (["align", "nowhere.jpg", "a dog"], {}, "does not exist"),
        (["align", "README.md", "a dog", "--out", "nowhere/a.svg"], {}, "no folder nowhere"),
        (["nonsense"], {}, "No such command"),
    ],
)
def test_usage_errors_are_told_at_once(
    arguments: list[object], environment: dict[str, str], expected: str
) -> None:
    code, said, imported = tessera(*arguments, **environment)
    assert (code, imported) == (2, set())
    assert expected in said
    assert "Traceback" not in said


@pytest.mark.system
def test_settings_of_users_that_contradict_each_other_are_told_before_anything_loads() -> None:
    code, said, imported = tessera("serve", TESSERA_OIDC_ISSUER="https://login.example")
    assert (code, imported & {"torch", "spacy", "numba"}) == (1, set())
    assert "error: TESSERA_OIDC_ISSUER needs TESSERA_OIDC_AUDIENCE" in said


@pytest.mark.system
def test_a_taken_port_is_told_before_anything_loads() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said, imported = tessera("serve", "--port", port)
    assert (code, imported) == (1, set())
    assert f"error: cannot listen at 127.0.0.1 port {port}" in said
    assert "Traceback" not in said


def test_the_socket_that_listens_states_its_protocol() -> None:
    """Else asyncio leaves TCP_NODELAY off, and answers wait for acknowledgements."""
    with bind_socket("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.system
def test_a_missing_or_broken_checkpoint_is_told_before_anything_loads(tmp_path: Path) -> None:
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"no weights")
    for path, expected in ((tmp_path / "gone", "no checkpoint at"), (broken, "not a safetensors")):
        for command in (("search", "a dog", "--data", tmp_path), ("mcp", "--data", tmp_path)):
            code, said, imported = tessera(*command, TESSERA_MATCHER=str(path))
            assert (code, imported) == (1, set())
            assert expected in said
            assert "Traceback" not in said


@pytest.mark.system
@pytest.mark.timeout(300)  # a new process imports torch
def test_a_service_loads_no_cuda_but_torchs_own_and_no_compiler_and_transformers() -> None:
    script = (
        "import pathlib, re, sys\n"
        "from app import torch_import\n"
        "torch_import.import_torch('cpu')\n"
        "import app.main, torch\n"
        "maps = pathlib.Path('/proc/self/maps').read_text()\n"
        "loaded = set(re.findall(r'libcublasLt[.]so[.](\\d+)', maps))\n"
        "print(*sorted(loaded), *({'faiss', 'alembic'} & set(sys.modules)))\n"
        "print(*(torch.version.cuda or '').split('.')[:1])\n"
        "from models import checkpoint, shipped\n"
        "for path in (shipped.MATCHER, shipped.GROUNDER): checkpoint.load(path)\n"
        "print({'torch._dynamo', 'transformers'} & set(sys.modules))\n"
        "from torch._dynamo.utils import is_compile_supported\n"
        "from models.vision.operators import roi_align\n"
        "print(is_compile_supported('cpu'))\n"
    )
    loaded, torchs_own, modules, supported = printed(script)
    assert loaded == torchs_own
    assert modules == "set()"
    assert supported in ("True", "False")
