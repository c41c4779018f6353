from io import StringIO

from rich.console import Console

from index import progress as lines
from training.runs import progress


def test_parts_pass_on_with_their_progress_shown(monkeypatch):
    monkeypatch.setattr(lines, "INTERVAL", 0.0)
    console = Console(file=StringIO())
    parts = progress.on(console)((part for part in "abcd"), 4, "epoch 1")
    assert list(parts) == ["a", "b", "c", "d"]
    assert "epoch 1: 50 %" in console.file.getvalue()


def test_of_no_work_nothing_is_shown():
    console = Console(file=StringIO(), force_terminal=True)
    assert list(progress.on(console)([], 0, "epoch 1")) == []
    assert console.file.getvalue() == ""
