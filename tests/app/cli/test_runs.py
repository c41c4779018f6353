"""Relevance from end to end: index, rank, judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import app.cli
import training.cli
from index import trec as judgements


@pytest.fixture
def command(
    small_matcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Runs a command of `tessera` in this process; its output."""
    monkeypatch.setenv("TESSERA_MATCHER", str(small_matcher))
    monkeypatch.setenv("TESSERA_CAPTIONER", str(tmp_path / "none"))
    monkeypatch.setenv("TESSERA_REGION_CAPTIONER", str(tmp_path / "none"))
    monkeypatch.setenv("TESSERA_DATA", str(tmp_path / "data"))

    def run(name: str, *arguments: object) -> str:
        commands = (training if name == "judge" else app).cli.app
        result = CliRunner().invoke(commands, [name, *map(str, arguments)])
        assert result.exit_code == 0, result.output
        return result.output

    return run


def test_queries_are_ranked_and_judged(
    command: Callable[..., str], tmp_path: Path, png: Callable[..., bytes]
) -> None:
    for colour in ("red", "blue", "green"):
        (tmp_path / f"{colour}.png").write_bytes(png(colour))
    items = [{"id": colour, "image": f"{colour}.png"} for colour in ("red", "blue", "green")]
    (tmp_path / "shop.jsonl").write_text("\n".join(map(json.dumps, items)))
    command("index", tmp_path / "shop.jsonl")
    judged = tmp_path / "judged.txt"
    judged.write_text("q1 0 red 1\nq1 0 blue 1\nq1 0 green 1\nq2 0 red 1\n")
    (tmp_path / "topics.tsv").write_text("q1\ta dog\nq2\ta house\n")
    run = tmp_path / "run.csv"
    output = command("rank", judged, run, "--topics", tmp_path / "topics.tsv")
    assert output == f"{run}\n"
    found = judgements.by_query(judgements.read(run))
    assert set(found["q1"]) == set(found["q2"]) == {"red", "blue", "green"}
    numbers = tmp_path / "numbers.json"
    command("judge", judged, run, "--json", numbers)
    measures = json.loads(numbers.read_text())["measures"]
    means = {one["measure"]: one["means"][0] for one in measures}
    assert means["R@10"] == 1
    assert means["P@5"] == pytest.approx((3 / 5 + 1 / 5) / 2)
    assert means["RR@10"] >= (1 + 1 / 3) / 2
