"""Settings of limits: sizes, places and patience."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt

from app.settings_names import RenamedSettings
from index.items import ITEM_TEXT
from models.vision.photo_decoding import FOOTAGE_BYTES, MOST_BYTES, MOST_PIXELS


def check_rate(rate: str) -> str:
    """Return a rate; ValueError if it is not one."""
    if not re.fullmatch(r"[1-9]\d{0,8}/(second|minute|hour|day)", rate):
        raise ValueError(f"{rate!r} is no rate such as 100/minute; it may be second, hour or day")
    return rate


RateLimit = Annotated[str, AfterValidator(check_rate)]


class LimitSettings(RenamedSettings):
    """Settings of sizes, places, rates and patience."""

    upload_bytes: PositiveInt = Field(
        default=MOST_BYTES, description="Largest image file, in bytes."
    )
    item_bytes: PositiveInt = Field(
        default=4 * MOST_BYTES,
        description="Most bytes of the image files of one item together, in a form or a line of an "
        "import; at least those of the largest file.",
    )
    footage_bytes: PositiveInt = Field(
        default=FOOTAGE_BYTES,
        description="Largest raw file or video in a folder, in bytes; only its preview or some "
        "frames are read.",
    )
    upload_pixels: PositiveInt = Field(
        default=MOST_PIXELS,
        description="Largest image, width × height, checked before it is decoded.",
    )
    decode_seconds: PositiveInt = Field(
        default=20, description="Most seconds of processor time to decode one image."
    )
    decode_memory: PositiveInt = Field(
        default=2**30,
        description="Most bytes of memory of a process that decodes images.",
    )
    text_bytes: PositiveInt = Field(
        default=ITEM_TEXT,
        description="Most bytes of a JSON body, a form or a line of an import besides photos, and "
        "of an item's metadata and sentences together; some routes take less "
        "(operations.md#many-clients-at-once).",
    )
    running: PositiveInt = Field(
        default=2,
        description="Text searches that compute at the same time; as many requests with photos.",
    )
    # One caller gets three quarters: a shop's backend has one key, and 64 requests at once.
    waiting: int = Field(
        default=96, ge=0, description="Text searches that may wait for their turn; 503 beyond."
    )
    photos_waiting: int = Field(
        default=48, ge=0, description="Requests with photos that may wait; 503 beyond."
    )
    imports: PositiveInt = Field(
        default=64, description="Imports that may be under way, taking turns; 503 beyond."
    )
    patience: PositiveInt = Field(
        default=30, description="Seconds that a request may wait for its turn; 503 beyond."
    )
    idle_seconds: PositiveInt = Field(
        default=20, description="Seconds that a client may leave the service waiting; 408 beyond."
    )
    body_seconds: PositiveInt = Field(
        default=120, description="Seconds that a body may take, except an import's; 408 beyond."
    )
    body_rate: int = Field(
        default=500,
        ge=0,
        description="Bytes a second that a body, or a line of an import, must come with on "
        "average, after its first `TESSERA_IDLE_SECONDS`; 408 below, 0 for no such limit.",
    )
    bodies: PositiveInt = Field(
        default=128, description="Bodies that may be coming at once, imports aside; 503 beyond."
    )
    connections: PositiveInt = Field(
        default=1000,
        description="Connections that may be open at once, of each process; 503 beyond.",
    )
    ready_seconds: PositiveFloat = Field(
        default=5.0, description="Seconds for which `/readyz` answers by the same check."
    )
    batch: PositiveInt = Field(
        default=16, description="Items embedded and stored together in an import."
    )
    rate_limit: RateLimit | None = Field(
        default=None,
        description="Requests of a key, or of an address without keys, such as `600/minute`; 429 "
        "beyond.",
    )
    concurrency_limit: PositiveInt | None = Field(
        default=None,
        description="Requests of a key, or of an address without keys, at once; 429 beyond.",
    )
