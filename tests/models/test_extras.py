from pathlib import Path

import pytest

from models import extras


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ((), "pip install 'tessera-search[parquet]'"),
        (("pyproject.toml",), "pip install 'tessera-search[parquet]'"),
        (("Makefile", "pyproject.toml"), "make install EXTRAS=parquet"),
    ],
)
def test_a_checkout_installs_extras_by_make_and_others_by_pip(
    files: tuple[str, ...], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in files:
        (tmp_path / file).touch()
    monkeypatch.setattr(extras, "ROOT", tmp_path)
    assert extras.install("parquet") == command


def test_these_tests_run_in_a_checkout():
    assert extras.install("train") == "make install EXTRAS=train"
