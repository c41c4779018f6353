"""Services under random kills: some rounds of tests.kills."""

from __future__ import annotations

from pathlib import Path

import pytest

from models import checkpoint
from tests.kills.__main__ import matchers, run
from tests.processes import servers


@pytest.mark.slow
@pytest.mark.timeout(3600)  # a round starts a service
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_what_a_killed_service_acknowledged_is_there(database: str, tmp_path: Path) -> None:
    if database == "postgresql" and servers.commands() is None:
        pytest.skip("no PostgreSQL here: install Debian's package postgresql")
    assert run(database, 6, tmp_path).total() == 6


def test_its_two_matchers_are_different_ones(tmp_path: Path) -> None:
    first, second = (checkpoint.load(path) for path in matchers(tmp_path / "matchers"))
    assert first.kind == second.kind == "matchers"
    assert first.fingerprint != second.fingerprint
