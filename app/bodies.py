"""Bodies of JSON alone, of the media types that a route takes, within the limit of text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel

from app.errors import WrongMediaType
from app.openapi import JSON, reference
from app.uploads import bounded, media_type

Fields = TypeVar("Fields", bound=BaseModel)

MERGE_PATCH = "application/merge-patch+json"  # RFC 7396


def reads_json(model: type[Fields], *media_types: str) -> Callable[[Request], Awaitable[Fields]]:
    """A dependency that reads a body of JSON, of one of the media types, `JSON` by default."""
    accepted = media_types or (JSON,)

    async def read(request: Request) -> Fields:
        kind = media_type(request)
        if kind not in accepted:
            raise WrongMediaType(
                f"the body is {kind or 'of no stated type'}; send {' or '.join(accepted)}"
            )
        most = request.app.state.settings.text_bytes
        return model.model_validate_json(b"".join([part async for part in bounded(request, most)]))

    return read


def json_of(model: type[BaseModel], *media_types: str) -> dict[str, Any]:
    """The OpenAPI description of what `reads_json` reads."""
    content = {kind: {"schema": reference(model)} for kind in media_types or (JSON,)}
    return {"requestBody": {"required": True, "content": content}}
