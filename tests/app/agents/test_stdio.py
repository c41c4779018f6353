"""An agent on this machine starts `tessera mcp` and searches a data folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from anyio import run

from app.defaults import DEFAULT_COLLECTION

ROOT = Path(__file__).parents[3]


@pytest.mark.system
@pytest.mark.parametrize("write", [False, True])
def test_a_data_folder_is_searched_over_stdin_and_stdout(
    small_matcher: Path, tmp_path: Path, write: bool
) -> None:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    command = StdioServerParameters(
        command=sys.executable,
        args=["tessera.py", "mcp", "--data", str(tmp_path), *(["--write"] if write else [])],
        cwd=ROOT,
        env={"TESSERA_MATCHER": str(small_matcher), "TESSERA_CAPTIONER": str(tmp_path / "none")},
    )

    async def ask() -> None:
        async with Client(command) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert ("add_item" in names) == write
            answer = await client.call_tool("search_photos", {"text": "a dog"})
            assert not answer.is_error
            found = json.loads(answer.content[0].text)
            assert found["verdict"] == "Nothing is indexed in this collection yet."
            refused = await client.call_tool("get_item", {"id": "x"})
            assert refused.is_error
            if write:
                note = {"id": "note", "sentences": ["a dog"], "collection": DEFAULT_COLLECTION}
                assert not (await client.call_tool("add_item", note)).is_error
                assert not (await client.call_tool("get_item", {"id": "note"})).is_error

    run(ask)


@pytest.mark.system
def test_a_mistake_is_a_sentence_on_stderr(tmp_path: Path) -> None:
    import subprocess

    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "tessera.py", "mcp", "--data", str(tmp_path)],
        cwd=ROOT,
        env={"TESSERA_MATCHER": str(tmp_path / "absent.safetensors")},
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.startswith(b"error: ")
