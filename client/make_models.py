"""The client's models: tessera_client/models.py, made of the service's OpenAPI document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from datamodel_code_generator import (
    DataModelType,
    InputFileType,
    LiteralType,
    PythonVersion,
    generate,
)
from datamodel_code_generator.format import Formatter

from app.main import create_app
from app.settings import Settings

MODELS = Path(__file__).parent / "tessera_client" / "models.py"
NAMED = re.compile(r"#/components/schemas/(\w+)")
SUBJECT = '"""Answers of the service, made by `make client` of its OpenAPI document."""'


def select_answers(document: dict[str, Any]) -> dict[str, Any]:
    """Select the schemas of answers, by name."""
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    waiting = set(NAMED.findall(json.dumps([operation["responses"] for operation in operations])))
    schemas: dict[str, Any] = {}
    while waiting:
        name = waiting.pop()
        schemas[name] = document["components"]["schemas"][name]
        waiting |= set(NAMED.findall(json.dumps(schemas[name]))) - schemas.keys()
    return {name: simplify(schemas[name]) for name in sorted(schemas)}


def simplify(schema: Any) -> Any:
    """Simplify a schema, to shorten the models."""
    if isinstance(schema, list):
        return [simplify(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if kinds := schema.get("prefixItems"):  # a box or a span: numbers of one kind
        return {"type": "array", "items": simplify(kinds[0])}
    left = {"title"} if isinstance(schema.get("title"), str) else set()
    left |= {"additionalProperties"} if schema.get("additionalProperties") is True else set()
    return {name: simplify(value) for name, value in schema.items() if name not in left}


def write_source() -> str:
    """The module's source."""
    document = create_app(Settings()).openapi()
    text = json.dumps({"openapi": document["openapi"], "info": document["info"], "paths": {}})
    schemas = json.dumps(select_answers(document))
    shorter = re.sub(r'(#/components/schemas/|")(\w+)Out"', r'\1\2"', schemas)
    text = text[:-1] + f', "components": {{"schemas": {shorter}}}}}'
    source = generate(
        text,
        input_file_type=InputFileType.OpenAPI,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        use_standard_collections=True,
        use_union_operator=True,
        strict_nullable=True,
        use_schema_description=True,
        use_single_line_docstring=True,
        use_annotated=True,
        field_constraints=True,
        collapse_root_models=True,
        disable_timestamp=True,
        enum_field_as_literal=LiteralType.All,
        disable_appending_item_suffix=True,
        custom_file_header=SUBJECT,
        formatters=[Formatter.RUFF_CHECK, Formatter.RUFF_FORMAT],
    )
    assert isinstance(source, str)
    return source.rstrip() + "\n"


if __name__ == "__main__":
    MODELS.write_text(write_source(), "utf-8")
