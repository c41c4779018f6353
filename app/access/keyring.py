"""Keyring: the known keys, from the environment and a changing file."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from app.access.key_file import describe_damage, read_lines
from app.access.keys import ApiKey, hash_key
from app.roles import Role
from app.settings import Settings

LEAST_SECRET = 32  # characters of a key that the environment sets
SETTLED = 1_000_000_000  # nanoseconds after which a file's times tell the next change
UNSETTLED = "unsettled"  # the state of a file that has to be read again

logger = logging.getLogger("tessera")


class Keyring:
    """The known keys: fixed ones, and those of a changing file.

    Used by the threads of no more than one event loop. A damaged line of the file opens nothing,
    and is logged. Raises OSError for a file that cannot be read when it is made; while that is so
    later, it is logged, and the keys that were read last go on.
    """

    def __init__(self, file: Path | None, fixed: Sequence[ApiKey] = ()) -> None:
        self._file, self._fixed = file, tuple(fixed)
        self._state: FileState | str | None = UNSETTLED
        self._read: tuple[ApiKey, ...] = ()
        self._logged: object = None
        self._locked = bool(fixed)
        self._read_file()

    @classmethod
    def of(cls, settings: Settings) -> Keyring:
        """Make the keyring of the settings.

        Raises ValueError if the file that is set does not exist.
        """
        if settings.keys is not None and not settings.keys.is_file():
            raise ValueError(
                f"there is no key file at {settings.keys}; tessera keys add NAME --role admin"
            )
        return cls(settings.keys_file, _read_environment(settings))

    @property
    def required(self) -> bool:
        """Return whether a key is needed.

        One is from when the first key or file of keys appears.
        """
        self._refresh()
        return self._locked

    def __len__(self) -> int:
        return len(self._fixed) + len(self._read)

    def find(self, key: str) -> ApiKey | None:
        """Find a key; the comparison takes the same time for all keys."""
        digest, match = hash_key(key), None
        for known in self._list_keys():
            if hmac.compare_digest(known.sha256, digest):
                match = known
        return match

    def find_mark(self, mark: str) -> ApiKey | None:
        """The key with a mark: of several the last, as `find` does."""
        return next((key for key in reversed(self._list_keys()) if key.mark == mark), None)

    def _list_keys(self) -> tuple[ApiKey, ...]:
        self._refresh()
        return (*self._fixed, *self._read)

    def _refresh(self) -> None:
        try:
            self._read_file()
        except OSError as unreadable:
            # The next request tries again, so that a removed key is refused soon.
            self._log(str(unreadable), f"the keys stay as they were: {unreadable}")

    def _read_file(self) -> None:
        state = _read_state(self._file)
        if state == self._state:
            return
        self._locked = self._locked or state is not None
        lines = read_lines(self._file)
        self._read = tuple(line.key for line in lines if line.key is not None and line.opens)
        # A file that was changed just now may change again without a sign: clocks tick slowly.
        self._state = state if state is None or state.is_settled() else UNSETTLED
        damage = describe_damage(lines)
        self._log((self._read, damage), *(f"{self._file}, {problem}" for problem in damage))

    def _log(self, what: object, *problems: str) -> None:
        """Log problems and the number of keys, once until something changes."""
        if what == self._logged:
            return
        first, self._logged = self._logged is None, what
        for problem in problems:
            logger.error("%s", problem)
        if not first:
            logger.info("%d keys are known now", len(self))


class FileState(NamedTuple):
    """The properties of a file, different after a change."""

    inode: int
    modified: int  # nanoseconds since 1970, as the next
    changed: int
    size: int

    def is_settled(self) -> bool:
        """Return whether the next change will change the times."""
        return time.time_ns() - max(self.changed, self.modified) > SETTLED


def _read_environment(settings: Settings) -> list[ApiKey]:
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
        keys.append(ApiKey(name=name, role=role, sha256=hash_key(secret.get_secret_value())))
    return keys


def _read_state(file: Path | None) -> FileState | None:
    """Return the state of a file; None if there is no file."""
    if file is None:
        return None
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return FileState(status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)


def check_lock(settings: Settings, keyring: Keyring) -> None:
    """Raise ValueError for a reachable service without keys.

    `--open` allows it.
    """
    if keyring.required and settings.open:
        raise ValueError(
            f"--open would let everyone in, and there are keys in {settings.keys_file} or in "
            "the environment; remove them, or serve without --open"
        )
    if keyring.required and not len(keyring) and not settings.has_users:
        damage = "; ".join(describe_damage(read_lines(settings.keys_file)))
        raise ValueError(
            f"{settings.keys_file} has no keys, so no one could get in"
            + (f" ({damage})" if damage else "")
            + "; remove it, or add one: tessera keys add NAME --role admin"
        )
    locked = keyring.required or settings.has_users
    if not (locked or settings.open or is_local(settings.host)):
        raise ValueError(
            f"others can reach {settings.host or 'this address'}, and there are no keys; add one: "
            "tessera keys add NAME --role admin, or let everyone do everything: tessera serve "
            "--open"
        )


def is_local(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
