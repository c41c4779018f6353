"""Requests and answers of alignments, groundings and captions."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from app.schemas.fields import Body, PhotoNumber, Probability
from app.schemas.search import FragmentOut, LinkOut, PhraseOut
from models.alignment import BETA


class AlignRequest(Body):
    """Explain how a photo, stored or uploaded, answers a sentence."""

    text: str
    id: str | None = None
    photo: PhotoNumber = 0
    beta: float = Field(BETA, ge=0, description="How strongly neighbouring words share a region.")


class GroundRequest(Body):
    """Find what phrases of a text mean in a photo, stored or uploaded."""

    text: str
    id: str | None = None
    photo: PhotoNumber = 0
    phrases: Annotated[list[str], Field(min_length=1, max_length=50)] | None = Field(
        None, description="Parts of the text, in its words; the whole text if there are none."
    )
    count: int = Field(1, ge=1, le=20, description="Boxes to give for each phrase.")


class CaptionRequest(Body):
    """Describe a photo, stored or uploaded."""

    id: str | None = None
    photo: PhotoNumber = 0
    beam: int = Field(5, ge=1, le=20, description="Hypotheses that are followed; 1 is greedy.")
    count: int = Field(1, ge=1, le=20, description="Captions to give, at most `beam`.")


class AlignmentOut(BaseModel):
    """Which region of a photo answers which words; the links add up to the score."""

    text: str
    score: float
    image: str | None
    width: int
    height: int
    fragments: list[FragmentOut]
    boxes: list[tuple[float, float, float, float]]
    links: list[LinkOut]
    phrases: list[PhraseOut]
    notes: list[str] = []


class BoxOut(BaseModel):
    """A part of a photo, and how well it fits a phrase: larger is better, in one photo."""

    box: tuple[float, float, float, float]
    similarity: float


class GroundedOut(BaseModel):
    """A phrase and what it means, the likeliest box first; none if the photo does not show it."""

    text: str
    span: tuple[int, int]
    probability: Probability
    present: bool
    boxes: list[BoxOut]


class GroundingOut(BaseModel):
    """Where in a photo the phrases of a text are."""

    text: str
    image: str | None
    width: int
    height: int
    phrases: list[GroundedOut]
    notes: list[str] = []


class CaptionOut(BaseModel):
    """A sentence and its log-probability (natural logarithm, summed over words).

    `probability` is the matcher's: that the photo shows what the sentence says.
    """

    text: str
    log_probability: float
    probability: Probability


class CaptionsOut(BaseModel):
    """Captions, best first."""

    captions: list[CaptionOut]
    unsure_below: Probability = Field(description="A caption with a lower one is a guess.")
    notes: list[str] = []
