"""Temporary files have a folder, even without one of the system."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

import pytest

from index.disk import provide_temporary_folder


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder for temporary files except in TMPDIR."""
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [os.environ["TMPDIR"]])
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_the_data_folder_serves_where_there_is_no_other(
    nowhere: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(FileNotFoundError):
        tempfile.TemporaryFile().close()
    with caplog.at_level(logging.WARNING):
        provide_temporary_folder(tmp_path / "data")
    assert tempfile.gettempdir() == os.environ["TMPDIR"] == str(tmp_path / "data" / "temporary")
    tempfile.TemporaryFile().close()
    assert str(tmp_path / "data" / "temporary") in caplog.text


def test_a_folder_that_is_there_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    provide_temporary_folder(tmp_path / "data")
    assert tempfile.gettempdir() == str(tmp_path)
    assert not (tmp_path / "data").exists()
