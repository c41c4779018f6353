"""A foreign tool's client of the OpenAPI document works."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.main import create_app
from app.settings import Settings

USE = """
import sys
from tessera_client import Client
from tessera_client.api.items import get_item, list_items, put_item
from tessera_client.api.search import search_image
from tessera_client.models import ImageHits, ImageSearch, ItemBody, Problem

client = Client(base_url=sys.argv[1])
stored = put_item.sync_detailed("a", client=client, body=ItemBody(sentences=["a red wall"]))
assert stored.status_code == 201, stored
assert stored.parsed.sentences == ["a red wall"]
assert [item.id for item in list_items.sync(client=client).items] == ["a"]
hits = search_image.sync(client=client, body=ImageSearch(text="a red wall"))
assert isinstance(hits, ImageHits), hits
missing = get_item.sync("nothing", client=client)
assert isinstance(missing, Problem) and missing.status == 404, missing
refused = search_image.sync(client=client, body=ImageSearch(text="?!"))
assert isinstance(refused, Problem) and refused.status == 422, refused
print("works")
"""


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run(  # noqa: S603
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_generated_client_works(address: str, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "openapi-python-client>=0.29", cwd=tmp_path)
    document = json.dumps(create_app(Settings()).openapi())
    (tmp_path / "openapi.json").write_text(document, "utf-8")
    (tmp_path / "config.yaml").write_text("package_name_override: tessera_client\n", "utf-8")
    tool = tmp_path / "env" / "bin" / "openapi-python-client"
    generate = ("generate", "--path", "openapi.json", "--config", "config.yaml", "--meta", "none")
    warnings = run(tool, *generate, cwd=tmp_path)
    assert "WARNING" not in warnings, warnings
    (tmp_path / "use.py").write_text(USE, "utf-8")
    assert run(python, "use.py", address, cwd=tmp_path) == "works\n"
