"""Hallucination of captions: nouns of absent things, and nouns with wrong boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torchvision.ops import box_iou

from models.text.parsing import parse_trees
from models.types import Box, ParsedSentence, Span
from training.data.entities import GroundedSentence, enclose
from training.evaluation.captions.wordnet import WordNet
from training.evaluation.localisation import IOU


@dataclass(frozen=True, slots=True)
class CaptionedPhoto:
    """A caption, its photo's sentences, and known boxes.

    attended and linked are the boxes of the caption's words, by their places, from the captioner's
    attention and from a matcher. names are more words for the photo's content. unsure says whether
    the caption is a guess, None if unknown.
    """

    caption: str
    sentences: Sequence[str]
    grounded: Sequence[GroundedSentence] = ()
    attended: Mapping[Span, Box] = field(default_factory=dict)
    linked: Mapping[Span, Box] = field(default_factory=dict)
    names: Sequence[str] = ()
    unsure: bool | None = None


@dataclass(frozen=True, slots=True)
class Hallucination:
    """Percentages over captions, as CHAIR (Rohrbach et al. 2018) counts them.

    hallucinated: of the nouns of things (CHAIR_i). captions: of the captions, those with such a
    noun (CHAIR_s). persons: of the captions, those that name a person where no sentence does.
    grounded: of the nouns with a box by attention and a true box, those with IoU ≥ 0.5; linked: the
    same with boxes by a matcher; None without any. boxed and with_link are the numbers of nouns.
    sure: of the captions, those that are no guesses; sure_right: of these, those without a
    hallucinated noun; right_sure: of the captions without one, those that are no guesses.
    """

    nouns: int
    hallucinated: float
    captions: float
    persons: float
    boxed: int
    grounded: float | None
    with_link: int = 0
    linked: float | None = None
    sure: float | None = None
    sure_right: float | None = None
    right_sure: float | None = None


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun of a text, in the singular, and its place."""

    name: str
    span: Span


def hallucination(shown: Sequence[CaptionedPhoto], wordnet: WordNet) -> Hallucination:
    """Measure captions against the sentences of their photos; ValueError without any.

    A noun is right if a sentence has it, a synonym in any sense, or a noun below it in WordNet.
    Sentences leave out much of what photos show: the share of hallucinated nouns compares
    captioners, and is no share of errors.
    """
    if not shown:
        raise ValueError("no captions to measure")
    things, photos, wrong = compare_nouns(shown, wordnet)
    faithful = [not wrong_nouns for wrong_nouns in wrong]
    sure = [not example.unsure for example in shown if example.unsure is not None]
    sure_right = [
        is_sure and is_right for is_sure, is_right in zip(sure, faithful, strict=bool(sure))
    ]
    persons = [
        not photo.has_person and any(wordnet.is_person(noun.name) for noun in caption_nouns)
        for caption_nouns, photo in zip(things, photos, strict=True)
    ]
    attended, linked = (
        judge_boxes(things, photos, boxes)
        for boxes in (
            [example.attended for example in shown],
            [example.linked for example in shown],
        )
    )
    count = sum(map(len, things))
    return Hallucination(
        nouns=count,
        hallucinated=share(sum(map(len, wrong)), count) or 0.0,
        captions=share(sum(map(bool, wrong)), len(shown)) or 0.0,
        persons=share(sum(persons), len(shown)) or 0.0,
        boxed=len(attended),
        grounded=share(sum(attended), len(attended)),
        with_link=len(linked),
        linked=share(sum(linked), len(linked)),
        sure=share(sum(sure), len(sure)),
        sure_right=share(sum(sure_right), sum(sure)),
        right_sure=share(sum(sure_right), sum(faithful)) if sure else None,
    )


def judge_boxes(
    things: Sequence[Sequence[Noun]],
    photos: Sequence[NamedContent],
    boxes: Sequence[Mapping[Span, Box]],
) -> list[bool]:
    """Judge the boxes of captions' nouns with a true box."""
    return [
        right
        for caption_nouns, photo, noun_boxes in zip(things, photos, boxes, strict=True)
        for noun in caption_nouns
        if (right := photo.grounds(noun, noun_boxes)) is not None
    ]


def compare_nouns(
    shown: Sequence[CaptionedPhoto], wordnet: WordNet
) -> tuple[list[list[Noun]], list[NamedContent], list[list[Noun]]]:
    """Find each caption's nouns of things, its photo, and the unnamed nouns."""
    things = [
        [noun for noun in find_nouns(tree, wordnet) if wordnet.is_thing(noun.name)]
        for tree in parse_trees([example.caption for example in shown])
    ]
    photos = [NamedContent(example, wordnet) for example in shown]
    wrong = [
        [noun for noun in caption_nouns if not photo.shows(noun.name)]
        for caption_nouns, photo in zip(things, photos, strict=True)
    ]
    return things, photos, wrong


class NamedContent:
    """The named things in the sentences about a photo."""

    def __init__(self, shown: CaptionedPhoto, wordnet: WordNet) -> None:
        self.shown, self.wordnet = shown, wordnet
        self.trees = {
            tree.text: tree
            for tree in parse_trees(
                [*shown.sentences, *shown.names, *(sentence.text for sentence in shown.grounded)]
            )
        }
        self.names = {name for tree in self.trees.values() for name in list_names(tree, wordnet)}
        self.senses = {sense for name in self.names for sense in wordnet.senses(name)}
        self.broader = frozenset().union(*map(wordnet.broader, self.names))
        self.has_person = any(map(wordnet.is_person, self.names))

    def shows(self, noun: str) -> bool:
        """Return whether a sentence names a thing, by this or another name."""
        senses = self.wordnet.senses(noun)
        return (
            noun in self.names
            or not self.senses.isdisjoint(senses)
            or bool(senses and senses[0] in self.broader)
        )

    def grounds(self, noun: Noun, boxes: Mapping[Span, Box]) -> bool | None:
        """Return whether a noun's box is near a true one.

        Or near all of a phrase's together.

        None if one of them is unknown.
        """
        box = boxes.get(noun.span)
        true = list(self.true_boxes(noun.name))
        if box is None or not true:
            return None
        overlaps = box_iou(torch.tensor([box]), torch.tensor(list(true)))
        return bool((overlaps >= IOU).any())

    def true_boxes(self, noun: str) -> Iterator[Box]:
        """Give the boxes of phrases about a noun.

        Their last noun is this, a synonym or narrower.
        """
        for sentence in self.shown.grounded:
            sentence_nouns = find_nouns(self.trees[sentence.text], self.wordnet)
            for phrase in sentence.phrases:
                heads = [head for head in sentence_nouns if is_within(head.span, phrase.span)]
                if heads and self.means(heads[-1].name, noun):
                    yield from (*phrase.boxes, enclose(phrase.boxes))

    def means(self, name: str, noun: str) -> bool:
        """Return whether a name says the same as a noun, or more."""
        senses = self.wordnet.senses(noun)
        return name == noun or bool(
            senses
            and (
                not set(senses).isdisjoint(self.wordnet.senses(name))
                or senses[0] in self.wordnet.broader(name)
            )
        )


def find_nouns(tree: ParsedSentence, wordnet: WordNet) -> Iterator[Noun]:
    """Find a caption's nouns outside compounds.

    Not "front" in "in front of", nor "tennis" in "tennis ball". A compound has its own name if
    WordNet knows it: "ice cream" is no cream.
    """
    words = tree.words
    for at, word in enumerate(words):
        after = words[at + 1].text.lower() if at + 1 < len(words) else ""
        if word.tag not in ("NN", "NNS") or word.relation == "compound" or after == "of":
            continue
        compound = f"{words[at - 1].text.lower()} {word.lemma}" if at else ""
        yield Noun(compound if wordnet.senses(compound) else word.lemma.lower(), word.span)


def list_names(tree: ParsedSentence, wordnet: WordNet) -> Iterator[str]:
    """All words of a sentence in the singular, and its nouns."""
    yield from (word.lemma.lower() for word in tree.words)
    yield from (noun.name for noun in find_nouns(tree, wordnet))


def is_within(span: Span, other: Span) -> bool:
    """Return whether a place lies in another."""
    return other.start <= span.start and span.end <= other.end


def share(part: int, of: int) -> float | None:
    """A part in percent; None of nothing."""
    return 100 * part / of if of else None
