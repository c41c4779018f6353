import json
import sys

import pytest

from training.evaluation.captions import spice

# What the program writes: the F-score of all tuples first, then those of kinds of tuples.
REPORT = """********  SPICE Evaluation  ********

All tuples
  f-score:\t0.213 (SPICE metric)
  precision:\t0.401

Object tuples
  f-score:\t0.500 (SPICE metric)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """SPICE's folder as on PyPI, without CoreNLP."""
    folder = tmp_path / "site" / "pycocoevalcap" / "spice"
    (folder / "lib").mkdir(parents=True)
    for file in (folder.parent / "__init__.py", folder / "__init__.py", folder / "spice.py"):
        file.touch()
    for name in [name for name in sys.modules if name.startswith("pycocoevalcap")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(folder.parent.parent)
    yield folder
    for name in [name for name in sys.modules if name.startswith("pycocoevalcap")]:
        del sys.modules[name]


@pytest.fixture
def java(tmp_path, monkeypatch):
    """Put a program alone on the path; it keeps its input."""

    def install(*lines):
        folder = tmp_path / "bin"
        folder.mkdir()
        file = folder / "java"
        copies = ["#!/bin/sh", 'for given in "$@"; do :; done', f'/bin/cp "$given" {tmp_path}/read']
        file.write_text("\n".join([*copies, *lines]))
        file.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        return tmp_path / "read"

    return install


def test_what_is_missing_is_named_with_how_to_get_it(package, java, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LookupError, match="needs Java 8 or later: apt install"):
        spice.find_program()
    java("true")
    with pytest.raises(LookupError, match=r"has no stanford-corenlp-3.6.0.jar and no stanford-"):
        spice.find_program()
    (package / "lib" / spice.CORENLP[0]).touch()
    with pytest.raises(LookupError, match=r"has no stanford-corenlp-3.6.0-models.jar: `python -m"):
        spice.find_program()


def test_the_score_is_that_of_all_tuples_in_percent(package, java):
    for name in spice.CORENLP:
        (package / "lib" / name).touch()
    read = java(f"/bin/cat <<'END'\n{REPORT}END")
    captions, references = [["a", "dog"], ["two", "cats"]], [[["the", "dog"]], [["cats"], ["x"]]]
    assert spice.find_program().score(captions, references) == pytest.approx(21.3)
    assert json.loads(read.read_text()) == [
        {"image_id": 0, "test": "a dog", "refs": ["the dog"]},
        {"image_id": 1, "test": "two cats", "refs": ["cats", "x"]},
    ]


@pytest.mark.parametrize("status", [1, 0])
def test_a_failure_says_what_java_says(java, status, tmp_path):
    thrown = "Exception in thread main java.lang.NoClassDefFoundError: SemgrexPattern"
    java(f"echo '{thrown}' >&2", "echo '\tat edu.anu.spice' >&2", f"exit {status}")
    with pytest.raises(ChildProcessError, match=f"SPICE failed: {thrown}$"):
        spice.Program(str(tmp_path / "bin" / "java"), tmp_path).score([["a"]], [[["a"]]])
