"""Support of captions: the matcher's evidence for each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from models.captions.calibration import CaptionCalibration, log_odds
from models.captions.content_words import assign_phrases, has_content, judges, spans
from models.registry import Caption, CaptionWord, Matcher
from models.scores import alignment
from models.scores.alignment import Phrase
from models.scores.calibration import Calibration
from models.scores.presence import judge_photo
from models.text import query_drafts
from models.text.parsing import parse_trees
from models.text.queries import Query
from models.types import Box, FragmentBag, ParsedSentence, Span

# The probability below which a word is not supported: the one with the best balanced accuracy for
# nouns and verbs of captions of Flickr8k's val, by benchmarks/models/caption_support.py (decision
# 0011).
SUPPORTED = 0.042
# The same for the confidence of a calibrated presence: that the word is likelier there than not.
PRESENT = 0.5
# How candidates are ranked: all chosen on Flickr8k's val (decision 0012).
LENGTH_POWER = 0.7
MATCH_WEIGHT = 0.4
WORD_REWARD = 0.03


@dataclass(frozen=True, slots=True)
class Attention:
    """A word's most attended box, and its share of attention."""

    box: Box
    share: float


@dataclass(frozen=True, slots=True)
class SupportedWord:
    """A word of a caption, with the captioner's attention and the matcher's support.

    `contribution` is the part of the caption's score of the word and the function words around it.
    `box` is the region of the word; None if the photo as a whole answers, or nothing does.
    `confidence` is the probability of the word's claim about the photo. `supported` says whether
    this is enough; None without a calibration. Function words and symbols have no contribution and
    no confidence.
    """

    text: str
    span: Span
    log_probability: float
    attention: Attention | None
    contribution: float | None = None
    box: Box | None = None
    confidence: float | None = None
    supported: bool | None = None


@dataclass(frozen=True, slots=True)
class SupportedCaption:
    """A caption, its score as a query, and its probability.

    The contributions of its words add up to `score`, without the part of a fragment for the whole
    sentence. `match` is the matcher's probability of the caption for the photo; `probability` is
    that of a calibration of captions, or `match` without one. `features` are the inputs of such a
    calibration, if known. `empty` says whether the caption has no thing in the calibration's list:
    its probability then means nothing.
    """

    caption: Caption
    score: float
    match: float | None
    probability: float | None
    words: tuple[SupportedWord, ...]
    features: tuple[float, ...] | None = None
    empty: bool = False

    @property
    def text(self) -> str:
        """The caption as one line."""
        return self.caption.text

    @property
    def rank(self) -> float:
        """The value for sorting a photo's captions, see `rank`."""
        return rank(self.caption, self.match, WORD_REWARD)

    def unsure(self, below: float | None) -> bool:
        """Return whether the caption is a guess.

        A guess is less probable than `below`, or names no thing.
        """
        return self.probability is not None and (self.empty or self.probability < (below or 0))


def rank(caption: Caption, probability: float | None, word_reward: float = 0.0) -> float:
    """Rank a caption of T words: log p / (T + 1)^0.7 + ρ T + 0.4 log(q / (1 − q)).

    p is the captioner's probability of the words and their end. q is the matcher's probability of
    the caption for the photo or region; without a calibration this term is left out. A search by p
    prefers short captions: the `word_reward` ρ makes up for it (Murray & Chiang 2018, section 3).
    Snippets of regions are short and get none.
    """
    fluency: float = caption.log_probability / (len(caption.words) + 1) ** LENGTH_POWER
    fluency += word_reward * len(caption.words)
    if probability is None:
        return fluency
    return fluency + MATCH_WEIGHT * log_odds(probability)


def support(
    matcher: Matcher,
    calibration: Calibration | None,
    image: FragmentBag,
    captions: Sequence[Caption],
    boxes: Tensor | None = None,
    calibrated: CaptionCalibration | None = None,
) -> list[SupportedCaption]:
    """Captions with a photo's support for each word, best first.

    The words' attention (R,) is over `boxes` (R, 4); `calibrated` gives captions a probability.
    """
    texts = list(dict.fromkeys(caption.text for caption in captions if caption.words))
    content = {word.text for caption in captions for word in caption.words if has_content(word)}
    words = calibration.words if calibration else ()
    embedded = query_drafts.of_several(matcher, [[(text, 1.0)] for text in texts], words)
    query_of = dict(zip(texts, embedded, strict=True))
    trees = dict(zip(texts, parse_trees(texts), strict=True))
    confidences = judge_words(matcher, calibration, image, sorted(content))
    photo_support = Support(
        matcher, calibration, calibrated, image, boxes, query_of, trees, confidences
    )
    return sorted(map(photo_support.caption, captions), key=lambda supported: -supported.rank)


def judge_words(
    matcher: Matcher, calibration: Calibration | None, image: FragmentBag, texts: Sequence[str]
) -> dict[str, float | None]:
    """The confidence in each word about a photo; None without a calibration."""
    if calibration is None or not texts:
        return dict.fromkeys(texts)
    presence, words = calibration.presence, calibration.words
    if presence is not None:
        asked = query_drafts.of_things(matcher, texts, words, presence)
        return {
            text: judge_photo(image, query, matcher.score).confidence
            for text, query in zip(texts, asked, strict=True)
        }
    asked = query_drafts.of_several(matcher, [[(text, 1.0)] for text in texts], words)
    return {
        text: calibration.of_pair(image, query, matcher.score)
        for text, query in zip(texts, asked, strict=True)
    }


@dataclass(frozen=True, slots=True)
class Support:
    """A photo with its model, to compare captions with.

    `queries` and `trees` are those of captions, and `confidences` those of words, by text.
    """

    matcher: Matcher
    calibration: Calibration | None
    calibrated: CaptionCalibration | None
    image: FragmentBag
    boxes: Tensor | None
    queries: dict[str, Query]
    trees: dict[str, ParsedSentence]
    confidences: dict[str, float | None]

    def caption(self, caption: Caption) -> SupportedCaption:
        """A caption with the support of its words."""
        if not caption.words:
            none = 0.0 if self.calibration else None
            return SupportedCaption(caption, 0.0, none, none, ())
        query = self.queries[caption.text]
        links = alignment.query_links(self.image, query, self.matcher.score)
        phrases = alignment.phrases(self.image, query, links)
        owned = assign_phrases(caption, phrases)
        sure = [self.confidence(word, owned.get(at, [])) for at, word in enumerate(caption.words)]
        tree = self.trees[caption.text]
        heads = judges(caption, tree)
        words = tuple(
            self.word(word, span, owned.get(at, []), sure[at], sure[heads[at]])
            for at, (word, span) in enumerate(zip(caption.words, spans(caption), strict=True))
        )
        score = sum(link.similarity for link in links)
        match = self.probability(query)
        if match is None or self.calibrated is None:
            return SupportedCaption(caption, score, match, match, words)
        features = self.calibrated.features(caption, tree, match)
        probability = self.calibrated.probability(features) if features else match
        empty = bool(self.calibrated.things) and not any(self.calibrated.find_things(tree))
        return SupportedCaption(caption, score, match, probability, words, features, empty)

    def confidence(self, word: CaptionWord, phrases: Sequence[Phrase]) -> float | None:
        """The probability of a content word's claim about the photo."""
        if not has_content(word):
            return None
        probability = self.confidences[word.text]
        absent = any(phrase.negated for phrase in phrases)
        return 1 - probability if probability is not None and absent else probability

    def word(
        self,
        word: CaptionWord,
        span: Span,
        phrases: Sequence[Phrase],
        confidence: float | None,
        deciding: float | None,
    ) -> SupportedWord:
        """A word with its phrases' support; `deciding` is the confidence to judge by."""
        attention = self.attention(word)
        if not has_content(word):
            return SupportedWord(word.text, span, word.log_probability, attention)
        supported = None if deciding is None else deciding >= self.least
        return SupportedWord(
            word.text,
            span,
            word.log_probability,
            attention,
            sum(phrase.similarity for phrase in phrases),
            None if supported is False else self.box(phrases),
            confidence,
            supported,
        )

    @property
    def least(self) -> float:
        """The least confidence in a supported word."""
        return PRESENT if self.calibration and self.calibration.presence else SUPPORTED

    def box(self, phrases: Sequence[Phrase]) -> Box | None:
        """The region of the strongest of a word's phrases."""
        best = max(phrases, key=lambda phrase: phrase.similarity, default=None)
        place = None if best is None or best.region is None else self.image.places[best.region]
        return place if isinstance(place, Box) else None

    def attention(self, word: CaptionWord) -> Attention | None:
        """The box with most of the captioner's attention."""
        if word.attention is None or self.boxes is None:
            return None
        best = int(word.attention.argmax())
        return Attention(Box(*self.boxes[best].tolist()), float(word.attention[best]))

    def probability(self, query: Query) -> float | None:
        """The probability of a query for the photo.

        None without a calibration.
        """
        if self.calibration is None:
            return None
        return self.calibration.of_pair(self.image, query, self.matcher.score)
