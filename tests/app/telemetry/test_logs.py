from __future__ import annotations

import json
import logging
import os
import subprocess
import sys

import pytest

from app.telemetry import logs, requests
from index.catalog.catalog import Catalog
from index.database.storage import Storage


def written(style: logs.Style, **extra: str) -> str:
    record = logging.makeLogRecord(
        {
            "name": "uvicorn.error",
            "levelname": "INFO",
            "msg": "on %s",
            "args": ("port 80",),
            **extra,
        }
    )
    return logs.formatter(style).format(record)


def test_records_of_libraries_are_json_too():
    record = json.loads(written("json", color_message="\x1b[1mon\x1b[0m"))
    assert record.pop("timestamp").endswith("Z")
    assert record == {"event": "on port 80", "level": "info", "logger": "uvicorn.error"}


@pytest.mark.parametrize("style", ["json", "plain"])
def test_what_a_client_chose_forges_no_line_and_moves_no_cursor(style: logs.Style):
    text = written(style, collection="a\nforged \x1b[2J line")
    assert "\n" not in text
    assert "\x1b[2J" not in text


def test_a_traceback_is_one_record_without_the_values_of_variables():
    sought = "what somebody searched for"
    try:
        len(None if sought else "")  # type: ignore[arg-type]
    except TypeError as error:
        failed = (type(error), error, error.__traceback__)
    record = logging.makeLogRecord({"name": "tessera", "msg": "failed", "exc_info": failed})
    for style in ("json", "plain"):
        text = logs.formatter(style).format(record)
        assert "TypeError" in text
        assert sought not in text
    line = logs.formatter("json").format(record)
    assert "\n" not in line
    assert json.loads(line)["exception"].startswith("Traceback")


def test_facts_are_noted_within_a_request_alone_and_cut():
    requests.note(collection="lost")
    with requests.collect_facts() as facts:
        requests.note(collection="a" * 10_000)
        requests.note(key="k")
    assert facts == {"collection": "a" * requests.LONGEST, "key": "k"}


@pytest.mark.system
def test_records_of_the_follower_are_those_of_the_service():
    code = (
        "import logging\n"
        "from app.engine import follower_process as follower\n"
        "from index.segments import follower_process as following\n"
        "log = logging.getLogger('index.segments.follower_process')\n"
        "following.main = lambda: log.warning('no room')\n"
        "follower.main()"
    )
    environment = os.environ | {"TESSERA_LOG": "json"}
    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    record = json.loads(ended.stderr)
    assert (record["event"], record["level"]) == ("no room", "warning")
    assert record["logger"] == "index.segments.follower_process"


def test_connections_of_the_database_come_and_go_without_a_line(tmp_path, caplog):
    for name, logger in logs.configuration("json")["loggers"].items():
        caplog.set_level(logger["level"], name)
    catalog = Catalog(Storage(tmp_path))
    catalog.names.all()
    catalog.close()
    assert [record.getMessage() for record in caplog.records] == []
