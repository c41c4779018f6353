"""Wrong settings and folders are refused by their names."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from app import __version__
from app.cli import app
from app.cli.options import check_audit, plain_errors
from app.engine.engine import read_synonyms
from models.header import UnfitModel


def run(*arguments: object) -> tuple[int, str]:
    """A command's exit code, and its output without frames."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PICTURES", "s3:/x/y", "write s3://x/y for an object store"),
        ("CORS_ORIGINS", '["photos.example"]', "no origin such as https://photos.example"),
        ("CORS_ORIGINS", '["https://photos.example/"]', "no path"),
        ("ALLOWED_HOSTS", "photos.example", 'written as JSON, such as ["photos.example"]'),
        ("DATA", __file__, "this is a file; name the data folder"),
    ],
)
def test_a_wrong_value_is_refused_with_its_setting(
    name: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"TESSERA_{name}", value)
    code, output = run("collections", "list")
    assert code == 2
    assert f"TESSERA_{name}" in output
    assert expected in output


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("TESSERA_RATELIMIT", "TESSERA_RATE_LIMIT"),
        ("tessera_oidc_collection_claim", "TESSERA_OIDC_COLLECTIONS_CLAIM"),
        ("TESSERA_OIDC_GROUPS", "TESSERA_OIDC_GROUPS_CLAIM"),
        ("TESSERA_ADMINKEY", "TESSERA_ADMIN_KEY"),
    ],
)
def test_a_misspelt_setting_is_refused_with_the_nearest(
    name: str, nearest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "x")
    expected = f"error: {name.upper()} is no setting; did you mean {nearest}? Rename or remove it."
    assert run("collections", "list") == (1, expected)


@pytest.mark.parametrize(
    "name",
    ["SERVICE_HOST", "PORT_8000_TCP", "DATABASE_HOST", "DATABASE_URL", "API_KEY", "SERVER", "URL"],
)
def test_other_names_of_the_prefix_are_warned_of(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"TESSERA_{name}", "x")
    code, output = run("collections", "list", "--data", tmp_path)
    assert code == 0
    assert output.startswith(f"warning: TESSERA_{name} is no setting, and is not read")


def test_services_of_kubernetes_with_the_prefix_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of a Service tessera-database.
    monkeypatch.setenv("TESSERA_DATABASE_PORT", "tcp://10.0.0.5:5432")
    code, output = run("collections", "list", "--data", tmp_path)
    assert (code, "warning: TESSERA_DATABASE_PORT is no setting" in output) == (0, True)


@pytest.mark.parametrize(
    "command", [["search", "a dog"], ["collections", "list"], ["delete", "a"], ["mcp"]]
)
def test_reading_commands_make_no_data_folder(command: list[str], tmp_path: Path) -> None:
    code, output = run(*command, "--data", tmp_path / "mistyped")
    assert code == 1
    assert "make one with `tessera index PHOTOS`, or name another by --data" in output
    assert not list(tmp_path.iterdir())


def test_files_of_settings_are_named(tmp_path: Path) -> None:
    check_audit(tmp_path / "made" / "audit.jsonl")
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"TESSERA_AUDIT: .*/file/a.jsonl cannot be written to"):
        check_audit(tmp_path / "file" / "a.jsonl")
    with pytest.raises(ValueError, match=r"TESSERA_SYNONYMS: .*/nowhere cannot be read: .*No such"):
        read_synonyms(tmp_path / "nowhere")


def test_the_version_is_printed() -> None:
    assert run("--version") == (0, f"tessera {__version__}")


def test_a_model_that_does_not_fit_is_told_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), plain_errors():
        raise UnfitModel("the captioner cannot be loaded: it lacks ['language.out.bias']")
    said = capsys.readouterr().err
    assert said == "error: the captioner cannot be loaded: it lacks ['language.out.bias']\n"
