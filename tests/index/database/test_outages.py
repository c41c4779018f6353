"""Failures of work in the background are logged once."""

from __future__ import annotations

import logging

import pytest

from index.database.errors import Busy
from index.database.outages import Outages
from index.items import ModelMismatch


def test_a_failure_is_logged_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    outages = Outages(logging.getLogger("tried"), "the work")
    for failure in (Busy("away"), Busy("away"), KeyError("a bug"), None, None, Busy("away")):
        with outages.survive():
            if failure:
                raise failure
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "the work waits, and tries again: away"),
        ("ERROR", "the work waits, and tries again: 'a bug'"),
        ("WARNING", "the work goes on"),
        ("WARNING", "the work waits, and tries again: away"),
    ]
    assert [record.exc_info is None for record in caplog.records] == [True, False, True, True]


def test_another_model_ends_the_work() -> None:
    with (
        pytest.raises(ModelMismatch),
        Outages(logging.getLogger("tried"), "the work").survive(),
    ):
        raise ModelMismatch("another model")
