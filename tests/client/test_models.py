"""The client's models are those that `make client` makes of the OpenAPI document."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_models_are_what_make_client_writes() -> None:
    made = runpy.run_path(str(ROOT / "client" / "make_models.py"))["write_source"]()
    written = (ROOT / "client" / "tessera_client" / "models.py").read_text("utf-8")
    assert made == written, "the API changed: run `make client`"
