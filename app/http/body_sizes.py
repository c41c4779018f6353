"""Limits of the text in a request's body, by model."""

from __future__ import annotations

from pydantic import BaseModel

from app.schemas.collections import AliasTarget, Renaming
from app.schemas.explain import AlignRequest, CaptionRequest, GroundRequest
from app.schemas.items import Deletion, ItemBody, ItemPatch
from app.schemas.products import ProductSearch
from app.schemas.search import ImageSearch, TextSearch
from app.schemas.session import SessionIn
from app.schemas.system import AuditRequest
from app.settings import Settings

KEY = NAME = 2**12  # a key of 1,000 characters, two names of 200
TEXTS = 2**16  # a text and phrases
SEARCH = 2**18  # a filter of 1,000 values of 200 characters
ALL = None  # what TESSERA_TEXT_BYTES says: metadata and sentences, 10,000 ids

MOST: dict[type[BaseModel], int | None] = {
    SessionIn: KEY,
    Renaming: NAME,
    AliasTarget: NAME,
    AlignRequest: TEXTS,
    GroundRequest: TEXTS,
    CaptionRequest: TEXTS,
    AuditRequest: SEARCH,
    ImageSearch: SEARCH,
    TextSearch: SEARCH,
    ProductSearch: SEARCH,
    Deletion: ALL,
    ItemBody: ALL,
    ItemPatch: ALL,
}


def text_bytes(model: type[BaseModel], settings: Settings) -> int:
    """Return the largest text of a request, photos aside."""
    most = MOST[model]
    return settings.text_bytes if most is None else min(most, settings.text_bytes)
