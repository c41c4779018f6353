"""The client's models are the output of `make client`."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_models_are_what_make_client_writes() -> None:
    made = runpy.run_path(str(ROOT / "client" / "make_models.py"))["write_source"]()
    written = (ROOT / "client" / "tessera_client" / "models.py").read_text("utf-8")
    assert made == written, "the API changed: run `make client`"
