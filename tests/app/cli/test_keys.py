"""Keys are made, listed and taken back, and shown once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.access.keyring import Keyring
from app.cli import app
from app.roles import Role
from app.settings import Settings

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command in this process; its exit code, output and errors."""
    monkeypatch.setenv("TESSERA_DATA", str(tmp_path / "data"))

    def run(*arguments: object) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        return result.exit_code, result.stdout, result.stderr

    return run


def test_a_key_is_shown_once_and_works(command: Command, tmp_path: Path) -> None:
    shop = ("--collection", "shop", "--collection", "blog", "--rate-limit", "9/minute")
    code, secret, said = command("keys", "add", "shop", "--role", "read", *shop)
    assert code == 0
    assert "only time" in said
    key = Keyring.of(Settings(data=tmp_path / "data")).find(secret.strip())
    assert key is not None
    assert (key.name, key.role, key.collections) == ("shop", Role.READ, ("shop", "blog"))
    assert key.rate_limit == "9/minute"
    code, listed, _ = command("keys", "list")
    assert code == 0
    assert "shop, blog" in listed
    assert secret.strip() not in listed
    assert key.sha256 not in listed


def test_a_key_is_taken_back(command: Command, tmp_path: Path) -> None:
    secret = command("keys", "add", "anna", "--role", "admin")[1].strip()
    command("keys", "add", "otto", "--role", "read")
    assert command("keys", "remove", "anna") == (0, "", "anna is no key any more.\n")
    assert Keyring.of(Settings(data=tmp_path / "data")).find(secret) is None
    code, _, said = command("keys", "remove", "anna")
    assert code == 1
    assert said.startswith("error: there is no key 'anna' in ")


def test_whoever_takes_back_the_last_key_reads_that_services_stay_locked(
    command: Command, tmp_path: Path
) -> None:
    command("keys", "add", "anna", "--role", "admin")
    keyring = Keyring.of(Settings(data=tmp_path / "data"))
    code, _, said = command("keys", "remove", "anna")
    assert code == 0
    assert "It was the last one in" in said
    assert "Services that run still ask for a key" in said
    assert keyring.required
    (tmp_path / "data" / "keys.jsonl").unlink()
    assert keyring.required
    assert not Keyring.of(Settings(data=tmp_path / "data")).required


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("", "--role", "read"), "name: "),
        (("a\u2028b", "--role", "read"), "name: it holds U+2028, which is not printable"),
        (("a", "--role", "read", "--rate-limit", "often"), "no rate such as 100/minute"),
        (("a", "--role", "owner"), "owner"),
    ],
)
def test_what_is_no_key_is_told_in_a_sentence(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    code, _, said = command("keys", "add", *arguments)
    assert code in (1, 2)
    assert words in said
    assert "Traceback" not in said
    assert not (tmp_path / "data" / "keys.jsonl").exists()


def test_damaged_lines_are_listed_and_hinder_no_command(command: Command, tmp_path: Path) -> None:
    command("keys", "add", "anna", "--role", "admin")
    file = tmp_path / "data" / "keys.jsonl"
    file.write_bytes(b'{"name": "b\xc2\x9b31m\n' + file.read_bytes())
    odd = '{"name": "o\\u2028\\u009b31mdd", "role": "read", "sha256": "%s"}\n' % ("0" * 64)
    file.write_text(odd + file.read_text("utf-8"), "utf-8")
    code, listed, said = command("keys", "list")
    assert code == 0
    assert "anna" in listed
    assert "o\\u2028\\x9b31mdd" in listed, "no terminal is told what to do by a name"
    assert f"{file}, line 2 is damaged and opens nothing: " in said.replace("\n", "")
    assert command("keys", "remove", "o\\u2028\\x9b31mdd")[0] == 0
    assert command("keys", "remove", "anna")[0] == 0
    code, _, said = command("serve")
    assert code == 1
    assert "no keys, so no one could get in (line 1 is damaged" in said


def test_another_file_can_be_named(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.jsonl"
    assert command("keys", "add", "anna", "--role", "read", "--keys", file)[0] == 0
    assert '"name":"anna"' in file.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--host", "0.0.0.0"), "tessera serve --open"),  # noqa: S104 - refused
        (("--ssl-keyfile", "key.pem"), "set ssl_certfile as well"),
        (("--ssl-certfile", "none.pem"), "there is no file none.pem"),
    ],
)
def test_an_unsafe_service_does_not_start(
    command: Command, options: tuple[str, ...], words: str
) -> None:
    code, _, said = command("serve", *options)
    assert code == 1
    assert words in said
