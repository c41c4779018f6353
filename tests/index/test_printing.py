"""Tables keep names whole, in terminals and in pipes."""

from __future__ import annotations

import pytest
from rich.console import Console

from index.printing import make_table, print_out

NAME = "laion/CLIP-ViT-L-14-laion2B-s32B-b82K" * 4


def test_long_names_are_folded_in_a_narrow_terminal() -> None:
    table = make_table("encoder", "licence")
    table.add_row(NAME, "MIT")
    console = Console(width=40)
    with console.capture() as printed:
        console.print(table)
    lines = printed.get().splitlines()[3:-1]
    assert "".join(line.split("│")[1].strip() for line in lines) == NAME


def test_names_stay_in_one_line_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    table = make_table("encoder", "licence", title="encoders")
    table.add_row(NAME, "MIT")
    print_out(table, f"{NAME} is one", sep="\n")
    lines = capsys.readouterr().out.splitlines()
    assert f"│ {NAME} │ MIT     │" in lines
    assert lines[-1] == f"{NAME} is one"
