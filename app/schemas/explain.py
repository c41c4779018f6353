"""Requests and answers of alignments, groundings and captions."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from app.schemas.emoji import QueryText
from app.schemas.fields import INTEGRAL, TEXTS, Body, Corners, PhotoNumber, Probability
from app.schemas.hits import FragmentOut, LinkOut, PhraseOut, WordGave
from models.registry import BEAM, WIDEST_BEAM, Generation
from models.scores.alignment import BETA

MOST_CAPTION_WORDS = 50
MOST_REGIONS = 50
Hypotheses = Annotated[int, Field(ge=1, le=WIDEST_BEAM), INTEGRAL]


class AlignRequest(Body):
    """A photo, stored or uploaded, and a sentence to explain."""

    most_text = TEXTS
    text: QueryText
    id: str | None = None
    photo: PhotoNumber = 0
    beta: float = Field(BETA, ge=0, description="How strongly neighbouring words share a region.")


class GroundRequest(Body):
    """Find the regions of phrases in a photo, stored or uploaded."""

    most_text = TEXTS
    text: QueryText
    id: str | None = None
    photo: PhotoNumber = 0
    phrases: Annotated[list[QueryText], Field(min_length=1, max_length=50)] | None = Field(
        None,
        description="Parts of the text, in its words; without any, its noun phrases.",
        examples=[["a dog", "a log"]],
    )
    count: Annotated[int, Field(ge=1, le=20), INTEGRAL] = Field(
        1, description="Boxes to give for each phrase."
    )


class CaptionRequest(Body):
    """Describe a photo, stored or uploaded, and its regions.

    Captions come from a beam search, or are drawn at random where a `temperature` is given.
    """

    most_text = TEXTS
    id: str | None = None
    photo: PhotoNumber = 0
    beam: Hypotheses = Field(BEAM, description="Hypotheses followed; 1 is greedy.")
    count: Hypotheses = Field(1, description="Captions to give, at most `beam` of a beam search.")
    temperature: float | None = Field(
        None,
        ge=0.01,
        le=10,
        description="Draw captions by nucleus sampling, words from p^(1/temperature).",
    )
    seed: Annotated[int, Field(ge=0, lt=2**63), INTEGRAL] | None = Field(
        None, description="Draws the same captions again; for a `temperature`."
    )
    max_words: Annotated[int, Field(ge=1, le=MOST_CAPTION_WORDS), INTEGRAL] | None = Field(
        None, description="The captioner's own limit if not given."
    )
    regions: Annotated[int, Field(ge=0, le=MOST_REGIONS), INTEGRAL] = Field(
        0,
        description="How many regions to describe at most; none whose caption is improbable.",
    )

    @property
    def generation(self) -> Generation:
        """Options of the captioner; ValueError for a conflict."""
        if self.temperature is None and self.seed is not None:
            raise ValueError("seed: only sampling needs one; send a temperature as well")
        return Generation(
            beam=self.beam,
            count=self.count,
            longest=self.max_words,
            temperature=self.temperature,
            seed=self.seed,
        )


class AlignmentOut(BaseModel):
    """The alignment of regions and words.

    The links, or phrases, and words add up to the score.
    """

    text: str
    score: float
    image: str | None
    width: int
    height: int
    fragments: list[FragmentOut]
    boxes: list[tuple[float, float, float, float]]
    links: list[LinkOut]
    phrases: list[PhraseOut]
    words: list[WordGave] = Field(
        default=[], description="What words of a stored item gave, as in a search."
    )
    notes: list[str] = []


class BoxOut(BaseModel):
    """A box, and its similarity to a phrase: comparable within one photo."""

    box: tuple[float, float, float, float]
    similarity: float


class GroundedOut(BaseModel):
    """A phrase and its boxes, the likeliest first; none if it is absent.

    `probability` is that of its being there, where that is as likely as not beforehand.
    """

    text: str
    span: tuple[int, int]
    probability: Probability
    present: bool
    boxes: list[BoxOut]


class GroundingOut(BaseModel):
    """The boxes of a text's phrases in a photo."""

    text: str
    image: str | None
    width: int
    height: int
    phrases: list[GroundedOut]
    notes: list[str] = []


class AttentionOut(BaseModel):
    """The region with most of the captioner's attention at a word."""

    box: Corners
    share: float = Field(description="Of its attention, 0 to 1.")


class CaptionWordOut(BaseModel):
    """A word of a caption: the matcher's evidence, and the captioner's attention.

    Function words have no contribution, box and confidence. Contributions add up to the caption's
    score, where no fragment stands for the whole sentence.
    """

    text: str
    span: tuple[int, int]
    log_probability: float
    contribution: float | None = Field(
        description="What the word and function words next to it give to the score."
    )
    box: Corners | None = Field(
        description="The region that earned it; null where the whole photo answers, or nothing."
    )
    confidence: Probability
    supported: bool | None = Field(
        description="Whether the photo supports the word; null where it is not known."
    )
    attention: AttentionOut | None = Field(
        description="Null where the captioner does not attend to boxes."
    )


class CaptionOut(BaseModel):
    """A sentence and its log-probability (natural logarithm, summed over words).

    `probability` says how likely all things that the sentence names are there: by captioner and
    matcher together, or by the matcher alone where captions were not calibrated with it. A sentence
    that names nothing is a guess as well. `score` is that of the sentence as a query.
    """

    text: str
    log_probability: float
    probability: Probability
    unsure: bool = Field(
        description="Whether it is a guess: less probable than `unsure_below`, or of nothing."
    )
    score: float
    words: list[CaptionWordOut]


class RegionOut(BaseModel):
    """A part of a photo and a sentence about it.

    `score` is the matcher's for the two alone, `probability` what that is worth.
    """

    box: Corners
    caption: str
    log_probability: float
    probability: Probability
    score: float


class CaptionsOut(BaseModel):
    """Captions of a photo and of its regions, best first.

    The best caption is the one that captioner and matcher together rank first, not always the one
    of the largest log-probability. Regions whose caption the matcher finds improbable are left out,
    and captions of a broken form: there may be none.
    """

    captions: list[CaptionOut]
    regions: list[RegionOut]
    unsure_below: Probability = Field(description="A caption with a lower probability is a guess.")
    notes: list[str] = []
