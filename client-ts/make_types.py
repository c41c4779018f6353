"""The TypeScript client's types: src/types.gen.ts, made of the service's OpenAPI document."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.main import create_app
from app.settings import Settings

FOLDER = Path(__file__).parent
TYPES = FOLDER / "src" / "types.gen.ts"
GENERATOR = FOLDER / "node_modules" / ".bin" / "openapi-ts"
SUBJECT = "/** Requests and answers, made by `make client-ts` of the OpenAPI document. */\n"
OPTIONS = re.compile(r"export type ClientOptions = \{.*?\n\};\n", re.DOTALL)  # of another client
REFERENCE = "#/components/schemas/"


def select_schemas() -> dict[str, Any]:
    """Select all schemas of the service, by their names in the client."""
    schemas = create_app(Settings()).openapi()["components"]["schemas"]
    text = json.dumps(drop_titles(schemas))
    renamed = {name: shorten(name, schemas) for name in schemas}
    for name, short in renamed.items():
        text = text.replace(f'"{REFERENCE}{name}"', f'"{REFERENCE}{short}"')
    read = json.loads(text)
    return {renamed[name]: read[name] for name in sorted(read)}


def shorten(name: str, names: dict[str, Any]) -> str:
    """Drop the end of an answer's name, unless another has it."""
    short = name.removesuffix("Out")
    return name if short in names else short


def drop_titles(schema: Any) -> Any:
    """Drop titles: they repeat the names of fields."""
    if isinstance(schema, list):
        return [drop_titles(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: drop_titles(value)
        for name, value in schema.items()
        if name != "title" or not isinstance(value, str)
    }


def write_source() -> str:
    """The module's source; FileNotFoundError unless `npm ci` has run."""
    if not GENERATOR.exists():
        raise FileNotFoundError(f"no {GENERATOR}: run `npm ci` in {FOLDER.name}")
    node = shutil.which("node")
    assert node is not None, "no node, which npm needs too"
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Tessera", "version": "1"},
        "paths": {},
        "components": {"schemas": select_schemas()},
    }
    with TemporaryDirectory() as made:
        written = Path(made, "openapi.json")
        written.write_text(json.dumps(document), "utf-8")
        options = ("--silent", "--no-log-file", "--plugins", "@hey-api/typescript")
        command = (node, GENERATOR, "--input", written, "--output", Path(made, "types"), *options)
        subprocess.run(command, cwd=FOLDER, check=True)  # noqa: S603 - our own command
        source = Path(made, "types", "types.gen.ts").read_text("utf-8")
    header, _, types = source.partition("\n")
    assert header.startswith("// This file is auto-generated"), header
    return f"{SUBJECT}\n{OPTIONS.sub('', types).strip()}\n"


if __name__ == "__main__":
    TYPES.write_text(write_source(), "utf-8")
