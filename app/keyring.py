"""Keyring: the keys that are known now, from the environment and a file that may change."""

from __future__ import annotations

import hmac
import logging
import os
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

from pydantic import ValidationError

from app.keys import Key, Role, first_mistake, hash_of
from app.settings import Settings

LEAST_SECRET = 32  # characters of a key that the environment sets

logger = logging.getLogger("tessera")


class Keyring:
    """The keys that are known now: fixed ones, and those of a file that is read as it changes.

    Used by the threads of no more than one event loop. Raises ValueError for a broken file when it
    is made; a file that breaks later is logged, and the keys that were read last go on.
    """

    def __init__(self, file: Path | None, fixed: Sequence[Key] = ()) -> None:
        self._file, self._fixed = file, tuple(fixed)
        self._state = _state_of(file)
        self._read = read_keys(file)
        self._locked = bool(fixed) or self._state is not None

    @classmethod
    def of(cls, settings: Settings) -> Keyring:
        """The keys that settings name; ValueError for a file that is set and not there."""
        if settings.keys is not None and not settings.keys.is_file():
            raise ValueError(
                f"there is no key file at {settings.keys}; tessera keys add NAME --role admin"
            )
        return cls(settings.keys_file, _of_environment(settings))

    @property
    def required(self) -> bool:
        """Whether a key is needed: once there was a key or a file of keys, from then on."""
        self._refresh()
        return self._locked

    def __len__(self) -> int:
        return len(self._fixed) + len(self._read)

    def find(self, key: str) -> Key | None:
        """What a key stands for, if it is known; compares with all of them in constant time."""
        digest, match = hash_of(key), None
        for known in self._known():
            if hmac.compare_digest(known.sha256, digest):
                match = known
        return match

    def find_mark(self, name: str, mark: str) -> Key | None:
        """The key with a name and a mark."""
        return next((key for key in self._known() if (key.name, key.mark) == (name, mark)), None)

    def _known(self) -> tuple[Key, ...]:
        self._refresh()
        return (*self._fixed, *self._read)

    def _refresh(self) -> None:
        state = _state_of(self._file)
        if state == self._state:
            return
        self._state = state
        self._locked = True
        try:
            self._read = read_keys(self._file)
        except (OSError, ValueError) as broken:
            logger.error("the keys stay as they were: %s", broken)
            return
        logger.info("%d keys are known now", len(self))


def read_keys(file: Path | None) -> tuple[Key, ...]:
    """The keys in a file, none if there is no file; ValueError names the line that is wrong."""
    if file is None or not file.exists():
        return ()
    keys: dict[str, Key] = {}
    for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            key = Key.model_validate_json(line)
        except ValidationError as wrong:
            raise ValueError(f"{file}, line {number}: {first_mistake(wrong)}") from None
        if key.name in keys:
            raise ValueError(f"{file}, line {number}: there is a key {key.name!r} already")
        keys[key.name] = key
    return tuple(keys.values())


def add_key(file: Path, key: Key) -> None:
    """Append a key to a file, which is made if need be; ValueError if its name is taken."""
    if key.name in {known.name for known in read_keys(file)}:
        raise ValueError(f"there is a key {key.name!r} already; remove it first, or choose a name")
    file.parent.mkdir(parents=True, exist_ok=True)
    line = key.model_dump_json(exclude_none=True) + "\n"
    whole = not file.exists() or file.read_bytes()[-1:] in (b"", b"\n")
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        opened.write(line if whole else "\n" + line)
        opened.flush()
        os.fsync(handle)


def remove_key(file: Path, name: str) -> None:
    """Take a key out of a file, whose other lines stay; LookupError if there is none."""
    if name not in {key.name for key in read_keys(file)}:
        raise LookupError(f"there is no key {name!r} in {file}")
    lines = file.read_text("utf-8").splitlines(keepends=True)
    remaining = [line for line in lines if not _names(line, name)]
    written = file.with_name(file.name + ".new")
    written.touch(file.stat().st_mode & 0o777)
    written.write_text("".join(remaining), "utf-8")
    written.replace(file)


def _names(line: str, name: str) -> bool:
    """Whether a line of a file of keys is the one with a name."""
    comment = not line.strip() or line.startswith("#")
    return not comment and Key.model_validate_json(line).name == name


def _of_environment(settings: Settings) -> list[Key]:
    keys = []
    for role in Role:
        name = f"{role}_key"
        secret = getattr(settings, name)
        if secret is None:
            continue
        if len(secret.get_secret_value()) < LEAST_SECRET:
            raise ValueError(
                f"TESSERA_{name.upper()} has under {LEAST_SECRET} characters, and could be guessed;"
                " openssl rand -hex 32 makes one"
            )
        keys.append(Key(name=name, role=role, sha256=hash_of(secret.get_secret_value())))
    return keys


def _state_of(file: Path | None) -> tuple[int, int, int] | None:
    """What is different once a file was changed; None if there is none."""
    if file is None:
        return None
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def check_lock(settings: Settings, keyring: Keyring) -> None:
    """ValueError where others could reach a service without keys that was not said to be open."""
    if keyring.required and settings.open:
        raise ValueError(
            f"--open would let everybody in, and there are keys in {settings.keys_file} or in "
            "the environment; remove them, or serve without --open"
        )
    if keyring.required and not len(keyring):
        raise ValueError(
            f"{settings.keys_file} has no keys, so nobody could get in; remove it, or add one: "
            "tessera keys add NAME --role admin"
        )
    if not (keyring.required or settings.open or _is_local(settings.host)):
        raise ValueError(
            f"others can reach {settings.host or 'this address'}, and there are no keys; add one: "
            "tessera keys add NAME --role admin, or let everybody do everything: tessera serve "
            "--open"
        )


def _is_local(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
