"""Requests and answers of searches for regions of photos."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.schemas.fields import INTEGRAL, Fraction
from app.schemas.hits import Hits, PhotoHit
from app.schemas.search import Search


class RegionSearch(Search):
    """A search for parts of photos.

    The query is a text, weighted phrases, a stored photo, a part of it, or an upload.
    """

    per_photo: Annotated[
        int,
        Field(
            ge=1,
            le=100,
            description="How many regions of a photo may be hits; of those that show the same, "
            "the best one.",
        ),
        INTEGRAL,
    ] = 1
    min_probability: Fraction | None = Field(
        None, description="Refused: probabilities are calibrated for whole photos."
    )


class RegionHit(PhotoHit):
    """A region of a photo; links and phrases add up to its score.

    `whole` is what the whole photo would give to a word, `added` what the region gives beyond it.
    """

    photo: int = Field(description="Which of the item's photos it is a part of, from 0.")
    region: int = Field(description="Its number in the photo; 0 is the whole photo.")
    box: tuple[float, float, float, float]
    crop: str = Field(description="The address of the region as a picture.")


class RegionHits(Hits):
    """Regions, best first."""

    hits: list[RegionHit]
