"""Keys are read, added and removed; changes count at once."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.access.key_file import (
    add_key,
    describe_damage,
    read_keys,
    read_lines,
    remove_key,
)
from app.access.keyring import Keyring
from app.access.keys import ApiKey, hash_key, make_key
from app.roles import Role
from app.settings import Settings
from app.unprintable import escape_unprintable


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
    assert hash_key("abc") == known  # FIPS 180-2, appendix B.1


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


def test_a_damaged_line_costs_its_key_alone_and_is_logged(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    anna, ben, cleo = (added(file, name) for name in ("anna", "ben", "cleo"))
    ring = Keyring(file)
    lines = file.read_bytes().split(b"\n")
    lines[1] = lines[1][:40] + b"\xff\x00" + lines[1][42:]
    file.write_bytes(b"\n".join(lines))
    assert [ring.find(secret) is not None for secret in (anna, ben, cleo)] == [True, False, True]
    assert f"{file}, line 2 is damaged and opens nothing" in caplog.text
    assert caplog.text.count("line 2") == 1, "once, and not by each request"
    assert Keyring(file).find(cleo) is not None, "a service starts"


def test_any_bit_that_flips_in_a_line_costs_no_other_key(file: Path) -> None:
    secrets = [added(file, name) for name in ("anna", "ben", "cleo")]
    whole = file.read_bytes()
    start = whole.index(b"\n") + 1
    for place in range(start, whole.index(b"\n", start)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            file.write_bytes(damaged)
            known = [key.sha256 for key in read_keys(file)]
            assert {hash_key(secrets[0]), hash_key(secrets[2])} <= set(known)
            assert len(known) <= 3


@pytest.mark.parametrize(
    "separator", ["\u2028", "\u2029", "\x85", "\x7f", "\u200b", "\u00a0", "\x1b"]
)
def test_a_name_holds_nothing_that_cannot_be_seen(separator: str) -> None:
    with pytest.raises(ValueError, match=rf"U\+{ord(separator):04X}, which is not printable"):
        make_key(f"anna{separator}b", Role.READ)


@pytest.mark.parametrize(("name", "words"), [(" anna", "a space"), ("a" * 101, "100 characters")])
def test_a_name_is_short_and_begins_with_no_space(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_key(name, Role.READ)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_key_whose_name_broke_the_file_works_and_can_be_removed(
    file: Path, separator: str
) -> None:
    """Former versions wrote it: they ended lines at more characters."""
    odd = ApiKey(name=f"a{separator}b", role=Role.READ, sha256=hash_key("odd"))
    otto = added(file, "otto")
    file.write_text(file.read_text() + odd.model_dump_json(exclude_none=True) + "\n", "utf-8")
    assert separator in file.read_text("utf-8")
    ring = Keyring(file)
    assert ring.find("odd") == odd
    remove_key(file, "otto")
    assert (ring.find(otto), ring.find("odd")) == (None, odd)
    assert file.read_bytes().isascii(), "the next change writes every key in today's form"
    remove_key(file, escape_unprintable(odd.name))
    assert ring.find("odd") is None


def test_a_key_can_be_removed_next_to_damaged_lines_which_stay(file: Path) -> None:
    anna, ben = added(file, "anna"), added(file, "ben")
    damage = b'{"name":"cleo","role":"adm\xff\xfe\x00\r'
    file.write_bytes(file.read_bytes() + damage)
    ring = Keyring(file)
    remove_key(file, "anna")
    assert (ring.find(anna), ring.find(ben) is None) == (None, False)
    dora = added(file, "dora")
    assert damage + b"\n" in file.read_bytes()
    assert ring.find(dora) is not None
    with pytest.raises(LookupError, match=r"no key 'cleo'.*line 2 is damaged"):
        remove_key(file, "cleo")


def test_a_full_disk_is_named_and_changes_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(file, "anna")
    before = file.read_bytes()

    def fail(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match=r"No space left on device: '.*keys\.jsonl'"):
        added(file, "ben")
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_removed_key_opens_nothing_by_another_line(file: Path) -> None:
    """Neither by a line of its name nor by its hash's."""
    anna = added(file, "anna")
    (key,) = read_keys(file)
    twins = [
        key.model_copy(update={"name": "twin", "role": Role.ADMIN}),
        key.model_copy(update={"sha256": hash_key("other"), "role": Role.ADMIN}),
    ]
    for twin in twins:
        file.write_text(file.read_text() + twin.model_dump_json(exclude_none=True) + "\n")
    ring = Keyring(file)
    assert (ring.find(anna), ring.find("other")) == (key, None)
    problems = [line.problem for line in read_lines(file)]
    assert problems == ["", "line 1 has its hash already", "line 1 has its name already"]
    remove_key(file, "anna")
    assert (ring.find(anna), ring.find("other"), read_keys(file)) == (None, None, ())


def test_names_that_look_the_same_are_taken(file: Path) -> None:
    for name in ("Anna", "straße", "ﬁne"):
        added(file, name)
    for name in ("anna", "ANNA", "Ａnna", "STRASSE", "fine"):
        with pytest.raises(ValueError, match="already"):
            added(file, name)
    assert len(read_keys(file)) == 3


def test_a_file_that_cannot_be_read_is_tried_again(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = added(file, "anna")
    ring = Keyring(file)
    remove_key(file, "anna")

    def refuse(_: Path) -> bytes:
        raise OSError("input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", refuse)
        for _ in range(3):
            assert ring.find(secret) is not None
        assert caplog.text.count("the keys stay as they were: input/output error") == 1
    assert ring.find(secret) is None


def test_two_changes_within_a_tick_of_the_clock_are_both_seen(file: Path) -> None:
    secret = added(file, "anna")
    ring = Keyring(file)
    before = file.stat()
    text = file.read_text().replace(hash_key(secret), hash_key("another"))
    file.write_text(text)  # of the same length, in the same file
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert ring.find(secret) is None


def test_a_file_that_vanishes_takes_its_keys_with_it(file: Path) -> None:
    secret = added(file, "anna")
    ring = Keyring(file)
    file.unlink()
    assert ring.find(secret) is None
    assert ring.required


def test_the_file_is_replaced_in_one_step_and_read_by_its_owner_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(file, "anna")
    file.chmod(0o644)
    synced: list[str] = []
    monkeypatch.setattr("app.access.key_file.sync", lambda path: synced.append(path.name))
    before = file.stat().st_ino
    added(file, "ben")
    assert file.stat().st_ino != before
    assert file.stat().st_mode & 0o777 == 0o640, "a group may read it where it could"
    assert synced == [file.parent.name]

    def refuse(*_: object) -> None:
        raise OSError("no room")

    whole = file.read_bytes()
    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(OSError, match="no room"):
        added(file, "cleo")
    assert file.read_bytes() == whole
    with pytest.raises(OSError, match="no room"):
        added(file.with_name("new.jsonl"), "cleo")
    assert list(file.parent.iterdir()) == [file]


def test_a_link_to_the_file_stays_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file.symlink_to(tmp_path / "elsewhere" / "keys.jsonl")
    added(file, "anna")
    remove_key(file, "anna")
    assert file.is_symlink()


def test_keys_that_are_added_at_the_same_time_are_all_there(file: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        secrets = list(pool.map(lambda number: added(file, f"key {number}"), range(24)))
    ring = Keyring(file)
    assert all(ring.find(secret) for secret in secrets)


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
    (damage,) = describe_damage(read_lines(file))
    assert damage.startswith("line 3 is damaged and opens nothing: ")
    assert words in damage
    assert read_keys(file) == ()


def test_names_are_taken_once(file: Path) -> None:
    added(file, "anna")
    with pytest.raises(ValueError, match="'anna' already"):
        added(file, "anna")
    file.write_text(file.read_text() * 2)
    assert describe_damage(read_lines(file)) == [
        "line 2 is damaged and opens nothing: line 1 has its name already"
    ]


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
    assert isinstance(key, ApiKey)
    assert key.role is Role.WRITE
    assert "www" not in repr(settings)
    monkeypatch.setenv("TESSERA_ADMIN_KEY", "secret")
    with pytest.raises(ValueError, match="TESSERA_ADMIN_KEY has under 32 characters"):
        Keyring.of(Settings(data=tmp_path))


def test_a_file_that_is_set_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no key file at"):
        Keyring.of(Settings(data=tmp_path, keys=tmp_path / "none"))
