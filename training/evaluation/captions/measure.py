"""All measurements of generated captions: against sentences, against boxes, and their variety."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from statistics import mean
from typing import TypeVar

from models.types import Box, Span
from training.data.corpus import Example
from training.data.entities import GroundedSentence
from training.evaluation.captions.bleu import bleu
from training.evaluation.captions.cider import cider
from training.evaluation.captions.hallucination import CaptionedPhoto, Hallucination, hallucination
from training.evaluation.captions.meteor import find_package, meteor
from training.evaluation.captions.rouge import rouge
from training.evaluation.captions.spice import Program
from training.evaluation.captions.treebank import treebank_words
from training.evaluation.captions.wordnet import WordNet

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class GeneratedCaption:
    """A generated caption, and the boxes of its words by their places.

    attended: boxes by the captioner's attention; linked: by a matcher. probability: of being right,
    by a calibrated matcher; unsure: whether the caption is a guess; features: the input of a
    calibration of captions. All three are None without a matcher.
    """

    text: str
    attended: Mapping[Span, Box] = field(default_factory=dict)
    linked: Mapping[Span, Box] = field(default_factory=dict)
    probability: float | None = None
    unsure: bool | None = None
    features: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class TextScores:
    """Scores of texts against references, in percent.

    length_ratio: texts' length against references', as a fraction. cider: CIDEr-D as papers print
    it. meteor is None without pycocoevalcap.
    """

    bleu: tuple[float, ...]
    length_ratio: float
    meteor: float | None
    rouge: float
    cider: float


@dataclass(frozen=True, slots=True)
class Descriptions(TextScores):
    """Measurements of captions, in percent except counts and the length in words.

    copied: captions that are a sentence of train word for word. A value is None if WordNet or train
    is missing, or SPICE was not asked for.
    """

    length: float
    vocabulary: int
    copied: float | None
    hallucination: Hallucination | None
    spice: float | None = None


def descriptions(
    captions: Sequence[GeneratedCaption],
    examples: Sequence[Example],
    train: Sequence[Example] = (),
    truth: Mapping[str, Sequence[GroundedSentence]] | None = None,
    spice: Program | None = None,
) -> Descriptions:
    """Measure one caption of each example; `truth` has boxes by file name.

    SPICE takes minutes, and is measured if its program is given.
    """
    texts = [caption.text for caption in captions]
    words = split_words(texts)
    references = [example.sentences for example in examples]
    scores = score_texts(texts, references)
    train_captions = {
        tuple(treebank_words(text)) for example in train for text in example.sentences
    }
    wordnet = find_installed(WordNet)
    return Descriptions(
        **{score.name: getattr(scores, score.name) for score in fields(scores)},
        length=mean(map(len, words)),
        vocabulary=len({word for caption in words for word in caption}),
        copied=100 * mean(tuple(caption) in train_captions for caption in words)
        if train_captions
        else None,
        hallucination=(
            hallucination(match_photos(captions, examples, truth or {}), wordnet)
            if wordnet
            else None
        ),
        spice=spice.score(words, [split_words(of_one) for of_one in references]) if spice else None,
    )


def score_texts(texts: Sequence[str], references: Sequence[Sequence[str]]) -> TextScores:
    """Score each text against its references; ValueError for a text without any."""
    scored = bleu(texts, references)
    words = split_words(texts)
    true_words = [split_words(of_one) for of_one in references]
    return TextScores(
        bleu=scored.scores,
        length_ratio=scored.length_ratio,
        meteor=meteor(words, true_words) if find_installed(find_package) else None,
        rouge=rouge(words, true_words),
        cider=cider(words, true_words),
    )


def split_words(texts: Sequence[str]) -> list[list[str]]:
    """Split each text into the words of the Penn Treebank."""
    return [treebank_words(text) for text in texts]


def find_installed(find: Callable[[], Found]) -> Found | None:
    """Find data of another package, or None without it."""
    try:
        return find()
    except LookupError:
        return None


def list_missing(measured: TextScores) -> list[str]:
    """List the missing data of other packages, with their installation."""
    absent = {
        "METEOR": explain_absent(find_package) if measured.meteor is None else None,
        "nouns": (
            explain_absent(WordNet)
            if isinstance(measured, Descriptions) and measured.hallucination is None
            else None
        ),
    }
    return [f"{name} not measured: {reason}" for name, reason in absent.items() if reason]


def explain_absent(find: Callable[[], object]) -> str | None:
    """Explain absent data of another package; None if they are there."""
    try:
        find()
    except LookupError as absent:
        return str(absent)
    return None


def match_photos(
    captions: Sequence[GeneratedCaption],
    examples: Sequence[Example],
    truth: Mapping[str, Sequence[GroundedSentence]],
) -> list[CaptionedPhoto]:
    """Pair captions with the known facts of their photos."""
    return [
        CaptionedPhoto(
            caption.text,
            example.sentences,
            truth.get(example.image.name, ()),
            caption.attended,
            caption.linked,
            tuple(filter(None, [example.metadata.get("category"), *(example.labels or ())])),
            caption.unsure,
        )
        for caption, example in zip(captions, examples, strict=True)
    ]
