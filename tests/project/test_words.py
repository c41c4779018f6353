"""The words of the code: docstrings, comments and class names."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = (
    *("app/*.py", "app/cli", "app/drawing", "app/imports", "app/schemas"),
    *("models/*.py", "models/captioners", "models/captions", "models/encoders"),
    *("models/grounders", "models/image_towers", "models/proposers", "models/text_towers"),
    *("models/vision", "training", "benchmarks", "client", "tests", "tessera.py"),
    *("client-ts/*.py", "deploy", "docs/*.py"),
)
PICTURES = (".svg", ".png")
PAGE = [
    file
    for file in sorted((ROOT / "app" / "page").rglob("*"))
    if file.is_file() and file.suffix not in PICTURES
]
MOST_WORDS = 12
ASIDE = re.compile(r"\([^()]*\)")  # shapes and citations
WORD = re.compile(r"[^\W\d_][\w'’./-]+|\ba\b")  # of two letters and more: others are symbols
CLAUSE = re.compile(r"\b(?:that|which|who|whom|whose|what|whatever|where|how|why)\b|\?", re.I)
ODD = re.compile(r"\b(?:anew|nobody|in place of|beside)\b", re.I)


def list_files(room: str) -> list[Path]:
    path = ROOT / room
    return sorted(path.rglob("*.py")) if path.is_dir() else sorted(ROOT.glob(room))


def first_lines(file: Path) -> Iterator[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, kinds) and (text := ast.get_docstring(node, clean=False)):
            yield text.strip().splitlines()[0].rstrip()


def find_fault(line: str) -> str | None:
    """A fault of a docstring's first line, if any."""
    line = ASIDE.sub("", re.sub(r"`[^`]*`", "code", line))
    words = WORD.findall(line)
    if len(words) > MOST_WORDS:
        return f"{len(words)} words instead of {MOST_WORDS}"
    if clause := CLAUSE.search(line):
        return f"a clause or question: {clause.group()}"
    return None if line.endswith((".", "!")) else "no full stop"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("Rank the photos against a text, best first.", None),
        ("Vectors (K, R, D) of boxes `that` count (Karpathy et al. 2014, section 3.1).", None),
        ("Rank the photos that pass.", "a clause or question: that"),
        ("Is it ready?", "a clause or question: ?"),
        ("Rank the photos", "no full stop"),
        ("Take one and two and three and four and five and so on.", "13 words"),
    ],
)
def test_faults_are_found(line: str, fault: str | None) -> None:
    assert (find_fault(line) or "").startswith(fault or "")
    assert (find_fault(line) is None) == (fault is None)


@pytest.mark.parametrize("room", ROOMS)
def test_first_lines_are_short_and_without_clauses(room: str) -> None:
    files = list_files(room)
    assert files
    lines = [(file.relative_to(ROOT), line) for file in files for line in first_lines(file)]
    faults = {(str(file), line): fault for file, line in lines if (fault := find_fault(line))}
    assert faults == {}


@pytest.mark.parametrize("room", ROOMS)
def test_comments_and_docstrings_use_common_words(room: str) -> None:
    texts = [(file.name, text) for file in list_files(room) for text in comments(file)]
    assert [(name, odd.group()) for name, text in texts if (odd := ODD.search(text))] == []


@pytest.mark.parametrize("file", PAGE, ids=lambda file: file.name)
def test_the_page_uses_common_words(file: Path) -> None:
    assert ODD.findall(file.read_text("utf-8")) == []


def comments(file: Path) -> Iterator[str]:
    """The comments and docstrings of a file with odd words, without quotations."""
    source = file.read_text("utf-8")
    if not ODD.search(source):
        return  # to find the comments takes a hundred times as long
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or token.string.startswith(('"""', 'r"""')):
            yield re.sub(r'`[^`]*`|"[^"\n]+"', "", token.string)


def test_class_names_have_one_meaning() -> None:
    """A registry's modules share names; the client's are the service's answers."""
    shared = {"Config", "Model", "Photos", "Texts"}
    places: dict[str, list[str]] = defaultdict(list)
    for room in ("app", "index", "models", "training", "benchmarks"):
        for file in list_files(room):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef) and node.name not in shared:
                    places[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
