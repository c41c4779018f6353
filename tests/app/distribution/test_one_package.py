"""The wheel has all rooms in one package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from app import demos
from app.distribution import one_package

ROOT = Path(one_package.__file__).parents[2]
PHOTO = demos.PHOTOS.folder / "coffee.jpg"
# Another project's process: its own packages have the rooms' names.
OTHERS = """
import app, index, models, training
from tessera_client import Client, NewItem
assert {room.MINE for room in (app, index, models, training)} == {True}
with Client(path="data") as client:
    statuses = list(client.upload([NewItem("cup", image=open(PHOTO, "rb").read())]))
    print([status.status for status in statuses])
    print([hit.id for hit in client.search_images("a cup of coffee").hits])
"""


@pytest.mark.parametrize(
    ("source", "rewritten"),
    [
        ("from app.cli import app", "from tessera_search.app.cli import app"),
        ("from models import (\n    x,\n)", "from tessera_search.models import (\n    x,\n)"),
        ("if x:\n    from index import a", "if x:\n    from tessera_search.index import a"),
        ("import training", "from tessera_search import training"),
        ("from apps import x\nimport json", "from apps import x\nimport json"),
        ('"""from index to app"""', '"""from index to app"""'),
    ],
)
def test_imports_of_rooms_become_imports_from_the_package(source: str, rewritten: str) -> None:
    assert one_package.rewrite(source) == rewritten


@pytest.mark.parametrize("source", ["import app.cli", "import json, index", "import models as m"])
def test_a_form_that_cannot_be_rewritten_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="cannot be rewritten; use from"):
        one_package.rewrite(source)


def test_every_module_of_the_rooms_can_be_rewritten() -> None:
    files = [file for room in one_package.ROOMS for file in (ROOT / room).rglob("*.py")]
    assert len(files) > 500
    for file in [*files, ROOT / "tessera.py"]:
        one_package.rewrite(file.read_text("utf-8"))


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    ran = subprocess.run(  # noqa: S603 - our own command
        list(map(str, command)),
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def probe(python: Path, folder: Path) -> tuple[int, str]:
    """Run the image's health check; its exit status and errors."""
    (check,) = re.findall(r"^  CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    probed = subprocess.run(  # noqa: S603 - our own command
        [python, *json.loads(check)[1:]],
        cwd=folder,
        env={"HOME": str(folder), "TESSERA_PORT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return probed.returncode, probed.stderr


@pytest.mark.system
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "kernels",
    [
        # Scores of one photo need no kernel, which takes long to compile.
        pytest.param({"NUMBA_DISABLE_JIT": "1"}, id="kernels not compiled"),
        pytest.param({}, id="kernels compiled", marks=pytest.mark.slow),
    ],
)
def test_the_wheel_works_in_a_process_with_other_packages_of_the_rooms_names(
    tmp_path: Path, kernels: dict[str, str]
) -> None:
    pip = (sys.executable, "-m", "pip")
    quickly = ("--no-build-isolation", "--config-settings=--build-option=--compression=stored")
    run(*pip, "wheel", ROOT, "--no-deps", *quickly, "-w", tmp_path, folder=tmp_path)
    [wheel] = tmp_path.glob("tessera_search-*.whl")
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    install = (*pip, "--python", python, "install", "--no-deps", "--no-index", "--no-compile")
    run(*install, wheel, folder=tmp_path)
    [site] = (environment / "lib").glob("python*/site-packages")
    assert {path.name for path in site.iterdir() if "dist-info" not in path.name} >= {
        "tessera_search"
    }
    # Everything that Tessera needs is in this environment; its editable installs are not read.
    paths = [path for path in sys.path if "site-packages" in path]
    (site / "dependencies.pth").write_text("\n".join([*paths, str(ROOT / "client")]))
    for room in one_package.ROOMS:
        (tmp_path / "mine" / room).mkdir(parents=True)
        (tmp_path / "mine" / room / "__init__.py").write_text("MINE = True\n")
    folder = tmp_path / "mine"
    assert "index" in run(environment / "bin" / "tessera", "--help", folder=folder)
    script = OTHERS.replace("PHOTO", json.dumps(str(PHOTO)))
    answers = run(python, "-c", script, folder=folder, **kernels)
    assert answers.splitlines() == ["['stored']", "['cup']"]
    assert probe(python, folder) == (1, "")  # no service is at the port
