"""The command line finds, indexes and explains, and survives being killed."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import torch
import typer
from rich.text import Text
from typer.testing import CliRunner

from app.cli import app
from app.engine.engine import Engine
from app.recommended import RECOMMENDED
from app.settings import Settings
from models import checkpoint
from models.registry import BEAM
from models.scores.alignment import BETA
from models.scores.calibration import Calibration

Png = Callable[..., bytes]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def command(
    small_matcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """Runs a command in this process; its exit code and output."""
    monkeypatch.setenv("TESSERA_MATCHER", str(small_matcher))
    monkeypatch.setenv("TESSERA_CAPTIONER", str(tmp_path / "none"))
    monkeypatch.setenv("TESSERA_REGION_CAPTIONER", str(tmp_path / "none"))
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("TESSERA_DATA", str(tmp_path / "data"))

    def run(*arguments: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        return result.exit_code, result.output

    return run


@pytest.fixture
def photos(tmp_path: Path, png: Png) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for colour in ("red", "blue"):
        (folder / f"{colour}.png").write_bytes(png(colour))
    return folder


def test_commands_warn_of_former_names_of_settings(
    command: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESSERA_ENGINE", "torch")
    code, output = command("search", "a dog")
    assert code == 0
    assert output.startswith("warning: TESSERA_ENGINE is now TESSERA_INFERENCE: rename it")


@pytest.mark.parametrize(
    ("name", "value", "mistake"),
    [
        ("TESSERA_WEBHOOKS", "all", "Input should be 'public', 'any' or 'none'"),
        ("TESSERA_USER_ROLES", "readers", "it is written as JSON"),
    ],
)
def test_a_setting_of_another_kind_is_named(
    command: Callable[..., tuple[int, str]],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    mistake: str,
) -> None:
    monkeypatch.setenv(name, value)
    code, output = command("search", "red")
    assert code == 2
    plain = " ".join(output.replace("│", " ").split())
    assert name.removeprefix("TESSERA_").lower() in plain.lower()
    assert mistake in plain


def test_indexed_photos_are_found_with_reasons(
    command: Callable[..., tuple[int, str]], photos: Path
) -> None:
    assert command("search", "a dog") == (0, "Nothing is indexed yet: tessera index FOLDER\n")
    code, output = command("index", photos)
    rate, *_, counts = output.splitlines()
    assert (code, counts) == (0, "2 stored, 0 skipped, 0 refused")
    assert rate.endswith("items a second")
    assert command("index", photos) == (0, "0 stored, 2 skipped, 0 refused\n")
    code, said = command("search", "a dog")
    assert code == 0
    assert "photos/red.png" in said
    assert "dog" in said


def test_photos_are_found_by_name_and_counted(
    command: Callable[..., tuple[int, str]], photos: Path
) -> None:
    command("index", photos)
    code, output = command("search", "red.png")
    assert code == 0
    assert "in file" in output
    code, output = command("search", "--sort", "file", "--descending", "--count", "file")
    assert code == 0
    assert "2 photos" in output
    assert output.index("red.png 1") < output.rindex("red.png")
    code, output = command("search")
    assert (code, "give a text" in output) == (2, True)
    code, output = command("search", "a dog", "--parts", "--sort", "file")
    assert (code, "are of photos" in output) == (2, True)


def test_keys_without_a_photo_to_count_are_named(
    command: Callable[..., tuple[int, str]], photos: Path, tmp_path: Path
) -> None:
    (tmp_path / "told.jsonl").write_text('{"id": "a", "sentences": ["red"], "metadata": {"b": 1}}')
    command("index", photos, tmp_path / "told.jsonl")
    code, output = command("search", "--count", "city", "--count", "b")
    notes = output.splitlines()[:3]
    assert code == 0
    assert notes == [
        "No item has 'city' in its metadata.",
        "None of these photos has 'b' in its metadata.",
        "2 photos",
    ]
    assert "\ncity:" not in command("search", "a dog", "--count", "city")[1]


def test_deleted_ids_of_no_item_are_named_and_no_failure(
    command: Callable[..., tuple[int, str]], photos: Path
) -> None:
    command("index", photos)
    unknown = "no item has the id 'dog99'\n"
    delete = ("delete", "photos/red.png", "dog99")
    assert command(*delete, "--dry-run") == (0, f"{unknown}1 to delete\n")
    assert command(*delete) == (0, f"{unknown}1 deleted\n")
    more = "no item has the id 'a', 'b', 'c', 'd', 'e' and 2 more\n0 deleted\n"
    assert command("delete", *"abcdefga") == (0, more)


def test_stored_sentences_are_found_with_reasons(
    command: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    assert command("search", "a dog", "--sentences") == (
        0,
        "No sentence is indexed yet: tessera index FOLDER\n",
    )
    rows = [{"id": f"{at}", "sentences": [text]} for at, text in enumerate(("a dog", "a boat"))]
    table = tmp_path / "told.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)))
    assert command("index", table)[0] == 0
    none = "None of the 2 items has a photo: --sentences searches their sentences\n"
    for options in ([], ["--parts"]):
        assert command("search", "a boat", *options) == (0, none)
    code, output = command("search", "a boat", "--sentences", "--limit", "1")
    assert code == 0
    assert "1.00" in output
    assert "a boat" in output
    assert "a dog" not in output


@pytest.mark.parametrize("options", [[], ["--sentences"], ["--parts"]])
def test_emoji_are_read_as_their_names(
    command: Callable[..., tuple[int, str]], photos: Path, options: list[str]
) -> None:
    (photos / "photos.jsonl").write_text(
        '{"id": "a", "image": "red.png", "sentences": ["a red dog"]}'
    )
    command("index", photos / "photos.jsonl")
    code, output = command("search", "red 🐶", *options)
    assert (code, output) == command("search", "red dog", *options)
    assert "dog" in output


def test_emoji_of_sentences_about_a_photo_are_read_as_their_names(
    command: Callable[..., tuple[int, str]], photos: Path
) -> None:
    code, output = command("align", photos / "red.png", "red 🐶")
    assert (code, output) == command("align", photos / "red.png", "red dog")
    assert "dog" in output


def test_parts_of_photos_are_found_with_their_boxes(
    command: Callable[..., tuple[int, str]], photos: Path
) -> None:
    command("index", photos)
    code, output = command("search", "a dog", "--parts")
    assert code == 0
    assert "photos/red.png" in output
    assert re.search(r"\d\.\d\d  \d\.\d\d  \d\.\d\d", output)
    code, output = command("search", "a dog", "--parts", "--sentences")
    assert (code, "sentences have no parts" in output) == (2, True)


def test_keep_is_never_ignored_silently(
    command: Callable[..., tuple[int, str]], photos: Path
) -> None:
    code, said = command("index", photos, "--keep")
    assert (code, "--keep needs --reembed" in said) == (2, True)
    command("index", photos)
    code, said = command("index", "--reembed", "--keep")
    assert (code, said.splitlines()[0]) == (
        0,
        "default is of this model already: nothing to re-embed or keep",
    )


def test_a_search_says_when_nothing_looks_like_the_query(
    command: Callable[..., tuple[int, str]],
    small_matcher: Path,
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weak, doubt = tmp_path / "weak.safetensors", "Nothing here looks like that"
    for constant, nothing in ((-3.0, True), (3.0, False)):
        coefficients = torch.tensor([[0.0, 0.0, 0.0, constant]] * 3)
        made = Calibration(torch.zeros(1, 8), torch.zeros(1, 8), coefficients, 0.5)
        checkpoint.calibrate(small_matcher, weak, made)
        monkeypatch.setenv("TESSERA_MATCHER", str(weak))
        command("index", photos)
        code, said = command("search", "a dog")
        assert code == 0
        assert (doubt in said) is nothing
        assert ("0.05" if nothing else "0.95") in said


def test_audit_of_unknown_words_says_that_nothing_was_measured(
    command: Callable[..., tuple[int, str]], photos: Path
) -> None:
    command("index", photos)
    assert command("index", "audit", "a dog") == (0, "recall 1.000, worst 1.000, of 1 queries\n")
    code, said = command("index", "audit", "asdfgh")
    assert code == 0
    assert said.startswith("nothing was measured: no query has a word that the model knows")


def test_a_search_for_unknown_words_says_so(command: Callable[..., tuple[int, str]]) -> None:
    code, said = command("search", "asdfgh")
    assert code == 0
    assert '"asdfgh" is not a word that the model knows' in said
    assert "No word of the query is known" in said
    assert "indexed" not in said


def test_nothing_indexed_is_a_failure_that_says_why(
    command: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, said = command("index", tmp_path / "none")
    assert code == 2
    assert "does not exist" in " ".join(said.replace("│", "").split())
    assert command("index")[0] == 2


def test_a_path_that_cannot_be_looked_at_says_why(
    command: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, said = command("index", tmp_path / ("long" * 100))
    assert code == 2
    assert "File name too long" in " ".join(said.replace("│", "").split())


def test_a_table_that_ends_too_soon_is_stored_so_far_and_a_failure(
    command: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    file = tmp_path / "shop.csv"
    file.write_text('id,title\n1,red\n2,"blue\n3,lime\n')
    code, output = command("index", file)
    assert (code, "1 stored" in output or "error: " in output) == (1, True)
    assert "shop.csv: the row that begins in line 3: close its quote" in output
    assert command("index", file)[1].count("skipped") <= 1


def test_alignment_is_told_and_drawn(
    command: Callable[..., tuple[int, str]], photos: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "why.svg"
    code, said = command("align", photos / "red.png", "a dog", "--out", picture)
    assert code == 0
    assert "score" in said
    assert picture.read_text().startswith("<svg")
    assert command("align", photos / "red.png", "a dog", "--out", "why.gif")[0] == 2
    code, said = command("align", photos / "red.png", "?!")
    assert (code, said) == (
        1,
        "error: the text has no words, which have letters or digits\n",
    )


def test_phrases_are_found_and_drawn(
    command: Callable[..., tuple[int, str]],
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    picture = tmp_path / "where.png"
    asked = ("ground", photos / "red.png", "a dog on a log", "--phrase", "a dog", "--phrase", "log")
    code, said = command(*asked, "--count", 2, "--out", picture)
    assert code == 0
    assert said.count("a dog") == said.count("log") == 2
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, said = command("ground", photos / "red.png", "a dog", "--phrase", "a cat")
    assert code == 1
    assert "a cat" in said
    monkeypatch.setenv("TESSERA_GROUNDER", str(tmp_path / "none"))
    code, said = command("ground", photos / "red.png", "a dog")
    assert code == 1
    assert "no grounder is loaded" in said


def test_description_without_a_captioner_says_so(
    command: Callable[..., tuple[int, str]], photos: Path
) -> None:
    code, said = command("describe", photos / "red.png")
    assert code == 1
    assert "no captioner is loaded" in said


def test_a_description_shows_its_support_and_its_regions(
    command: Callable[..., tuple[int, str]],
    describing: Engine,
    tmp_path: Path,
    png: Callable[..., bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.cli.options.load_models", lambda _: describing.models)
    photo, picture = tmp_path / "two.png", tmp_path / "caption.svg"
    photo.write_bytes(png("red", "blue"))
    code, said = command("describe", photo, "--regions", 2, "--out", picture)
    assert code == 0
    assert "With red by blue and lime" in said
    (red,) = (line for line in said.splitlines() if "│ red" in line)
    assert "0.00  0.00  0.50  0.50" in red
    (lime,) = (line for line in said.splitlines() if "│ lime" in line)
    assert "not supported" in lime
    assert said.count("│ Red thing") + said.count("│ Blue thing") == 2
    assert picture.read_text().startswith("<svg")
    code, said = command("describe", photo, "--count", 5, "--beam", 3)
    assert (code, "count: a beam of 3 gives at most as many captions" in said) == (1, True)
    code, said = command("describe", photo, "--count", 9)
    assert (code, "set a beam of at least 9" in said) == (1, True)
    code, said = command("describe", photo, "--seed", 1)
    assert (code, "send a temperature as well" in said) == (1, True)
    describing.models.region_captioner = None
    code, said = command("describe", photo, "--regions", 1)
    assert (code, "no captioner of regions is loaded" in said) == (1, True)


def test_models_lists_what_there_is(
    command: Callable[..., tuple[int, str]], small_matcher: Path
) -> None:
    code, said = command("models")
    assert code == 0
    assert "dvsa" in said


def test_names_of_recommended_encoders_are_whole(
    command: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, output = command("models", "--recommended")
    assert code == 0
    assert all(f" {encoder.id} " in output for encoder in RECOMMENDED)


def test_every_command_teaches_by_example() -> None:
    for name in ("serve", "index", "search", "describe", "align", "ground"):
        said = CliRunner().invoke(app, [name, "--help"]).output
        assert "tessera" in said, name
        assert "xample" in said, name


def list_help(command: Any, name: str = "tessera") -> Iterator[tuple[str, str]]:
    """List the help texts of a command, its parameters and subcommands."""
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    for subcommand in getattr(command, "commands", {}).values():
        yield from list_help(subcommand, f"{name} {subcommand.name}")


def test_no_help_text_is_lost_as_markup() -> None:
    texts = dict(list_help(typer.main.get_command(app)))
    assert texts["tessera align beta"] == "Larger values make longer phrases."
    for name, text in texts.items():
        assert Text.from_markup(text).plain == text, name


@pytest.mark.parametrize(
    ("name", "parameter", "default"), [("align", "beta", BETA), ("describe", "beam", BEAM)]
)
def test_help_has_the_default_of_the_models(name: str, parameter: str, default: float) -> None:
    commands = typer.main.get_command(app).commands
    parameters = {each.name: each.show_default for each in commands[name].params}
    assert parameters[parameter] == str(default)


@pytest.mark.system
@pytest.mark.timeout(300)  # a new process imports torch
def test_killed_import_loses_nothing_and_goes_on(
    command: Callable[..., tuple[int, str]],
    small_matcher: Path,
    photos: Path,
    tmp_path: Path,
    png: Png,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(60):
        (photos / f"{number:02}.png").write_bytes(png("red", "blue"))
    monkeypatch.setenv("TESSERA_BATCH", "1")
    engine = Engine.load(
        Settings(
            matcher=small_matcher, captioner=None, region_captioner=None, data=tmp_path / "data"
        )
    )
    home = engine.open("default")
    child = start("index", photos)
    while engine.catalog.count(home) < 5:
        assert child.poll() is None, "it ended before it was killed"
        threading.Event().wait(0.01)
    seen = {item.id for item in engine.catalog.list_items(home)}
    child.kill()
    child.wait()
    kept = {item.id for item in engine.catalog.list_items(home)}
    engine.catalog.close()
    assert seen <= kept
    assert len(kept) < 62, "it was done before it was killed"
    code, output = command("index", photos)
    counts = f"{62 - len(kept)} stored, {len(kept)} skipped, 0 refused"
    assert (code, output.splitlines()[-1]) == (0, counts)


@pytest.mark.slow
def test_served_photos_are_found_as_they_land(
    command: Callable[..., tuple[int, str]], photos: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = start("serve", "--photos", photos, "--port", port)
    try:
        while (items := listed(port)) is None or len(items) < 2:
            assert child.poll() is None, "the server ended"
            threading.Event().wait(0.1)
    finally:
        child.terminate()
        assert child.wait() == 0
    assert items == ["photos/blue.png", "photos/red.png"]
    assert "photos/red.png" in command("search", "a dog")[1]


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """The command in a process of its own, with this one's settings."""
    command = [sys.executable, "-m", "tessera", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)  # noqa: S603 - our own


def listed(port: int) -> list[str] | None:
    """The ids in a server's list; None while it is silent."""
    try:
        answer = httpx2.get(f"http://127.0.0.1:{port}/items", timeout=60)
    except httpx2.ConnectError:
        return None
    return [item["id"] for item in answer.json()["items"]]
