"""Keys are read, found, added and removed, and changes of their file are seen at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.keyring import Keyring, add_key, read_keys, remove_key
from app.keys import Key, Role, hash_of, make_key
from app.settings import Settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.jsonl"


def added(file: Path, name: str, role: Role = Role.READ) -> str:
    secret, key = make_key(name, role)
    add_key(file, key)
    return secret


def test_a_key_is_found_by_its_text_and_kept_as_its_hash_alone(file: Path) -> None:
    secrets = [added(file, name) for name in ("anna", "ben")]
    ring = Keyring(file)
    assert [key and key.name for key in map(ring.find, secrets)] == ["anna", "ben"]
    assert ring.find(secrets[0][:-1]) is None
    assert ring.find("") is None
    assert all(secret not in file.read_text() for secret in secrets)
    assert file.stat().st_mode & 0o077 == 0


def test_keys_are_random_and_say_what_they_are() -> None:
    made = {make_key("anna", Role.READ)[0] for _ in range(100)}
    assert len(made) == 100
    assert all(secret.startswith("tessera_") and len(secret) >= 8 + 43 for secret in made)


def test_a_hash_is_sha256_in_hexadecimal() -> None:
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert hash_of("abc") == known  # FIPS 180-2, appendix B.1


def test_keys_that_come_and_go_are_seen_without_a_restart(file: Path) -> None:
    ring = Keyring(file)
    assert not ring.required
    secret = added(file, "anna")
    assert ring.required
    assert ring.find(secret) is not None
    remove_key(file, "anna")
    assert ring.find(secret) is None
    file.unlink()
    assert ring.required, "a door that was locked opens by nothing that happens to a file"


def test_a_file_that_breaks_changes_no_key_and_is_logged(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = added(file, "anna")
    ring = Keyring(file)
    file.write_text(file.read_text() + '{"name": "ben"')
    assert ring.find(secret) is not None
    assert "line 2" in caplog.text
    with pytest.raises(ValueError, match="line 2"):
        Keyring(file)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"name": "a", "role": "owner", "sha256": "%s"}', "role: Input should be 'read'"),
        ('{"name": "a", "role": "read", "sha256": "ab"}', "sha256"),
        ('{"name": "", "role": "read", "sha256": "%s"}', "name"),
        ('{"name": "a", "role": "read", "sha256": "%s", "colour": 1}', "colour"),
        ('{"name": "a", "role": "read", "sha256": "%s", "collections": []}', "collections"),
        ('{"name": "a", "role": "read", "sha256": "%s", "rate_limit": "9/year"}', "100/minute"),
        ("nonsense", "the line"),
    ],
)
def test_a_line_that_is_no_key_is_named(file: Path, line: str, words: str) -> None:
    file.write_text("# keys\n\n" + line.replace("%s", "0" * 64))
    with pytest.raises(ValueError, match=words) as refused:
        read_keys(file)
    assert f"{file}, line 3" in str(refused.value)


def test_names_are_taken_once(file: Path) -> None:
    added(file, "anna")
    with pytest.raises(ValueError, match="'anna' already"):
        added(file, "anna")
    file.write_text(file.read_text() * 2)
    with pytest.raises(ValueError, match="line 2: there is a key 'anna' already"):
        read_keys(file)


def test_other_lines_of_the_file_stay(file: Path) -> None:
    file.write_text("# who may enter")  # without a newline at its end
    added(file, "anna")
    added(file, "ben")
    remove_key(file, "anna")
    assert file.read_text().startswith("# who may enter\n{")
    assert [key.name for key in read_keys(file)] == ["ben"]
    assert list(file.parent.iterdir()) == [file]
    with pytest.raises(LookupError, match="no key 'anna'"):
        remove_key(file, "anna")


def test_each_role_includes_those_before_it() -> None:
    included = [[role.includes(other) for other in Role] for role in Role]
    assert included == [[True, False, False], [True, True, False], [True, True, True]]


def test_keys_of_the_environment_have_their_roles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TESSERA_WRITE_KEY", "w" * 32)
    settings = Settings(data=tmp_path)
    key = Keyring.of(settings).find("w" * 32)
    assert isinstance(key, Key)
    assert key.role is Role.WRITE
    assert "www" not in repr(settings)
    monkeypatch.setenv("TESSERA_ADMIN_KEY", "secret")
    with pytest.raises(ValueError, match="TESSERA_ADMIN_KEY has under 32 characters"):
        Keyring.of(Settings(data=tmp_path))


def test_a_file_that_is_set_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no key file at"):
        Keyring.of(Settings(data=tmp_path, keys=tmp_path / "none"))
