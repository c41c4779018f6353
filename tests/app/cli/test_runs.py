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


def test_queries_without_a_text_among_the_topics_are_refused(tmp_path: Path) -> None:
    judged, topics = tmp_path / "judged.txt", tmp_path / "topics.tsv"
    judged.write_text("300 0 red 1\n301 0 red 1\n302 0 red 1\n")
    topics.write_text("300\ta dog\n302\t\n")
    arguments = ["rank", judged, tmp_path / "run.csv", "--topics", topics, "--data", tmp_path]
    result = CliRunner().invoke(app.cli.app, [*map(str, arguments)])
    assert result.exit_code == 1
    expected = f"error: no text for query 301 in {topics}; 2 of 3 queries have none"
    assert " ".join(result.output.split()) == expected
    assert not (tmp_path / "run.csv").exists()


def test_numbers_of_queries_without_topics_are_warned_of(
    command: Callable[..., str], tmp_path: Path, png: Callable[..., bytes]
) -> None:
    (tmp_path / "red.png").write_bytes(png("red"))
    command("index", tmp_path / "red.png")
    judged = tmp_path / "judged.txt"
    judged.write_text("301 0 red 1\n")
    output = command("rank", judged, tmp_path / "run.csv")
    assert f"warning: {judged} names its queries by numbers" in output
    assert "--topics FILE" in output
