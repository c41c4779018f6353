"""Grounder with two branches, for regions and for phrases (Wang et al. 2016, 3.3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.layers import Branch
from models.text.parsing import parse
from models.text.words import MINILM_HIDDEN, LowerMiniLM
from models.types import ParsedSentence, Span
from models.vision import backbones, proposals
from models.vision.regions import RegionFeatures, Standardize

FRAME = 3.0  # the whole frame's place in the order of likelihood
GEOMETRY = 6  # left, top, right, bottom, area, place among the proposals


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; no `hidden` makes both branches linear.

    `prior` is the strength of the preference for likely proposals, as in Zipf's law; the whole
    frame is as likely as the third.
    """

    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    proposals: str = "learned"
    hidden: int = 768
    embedding: int = 256
    dropout: float = 0.5
    region_dropout: float = 0.2
    phrase_dropout: float = 0.1
    prior: float = 0.0


class Model(nn.Module):
    """s_pi = x_iᵀ y_p − prior · log(i), of unit vectors and proposals i = 1, …, likeliest first.

    Lite0 features and geometry of a box stand for the paper's Fast R-CNN features, the mean of a
    phrase's MiniLM words in their sentence and without it for its Fisher vectors.
    """

    packaged = ("sight.", "words.")
    stored_in_half = ("proposer.", "regions.", "phrases.")

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        network = backbones.load_packaged(config.backbone)
        self.sight = RegionFeatures(network, network.channels, tuple(config.sizes))
        self.proposer = proposals.load(config.proposals)
        if isinstance(self.proposer, nn.Module):
            self.proposer.requires_grad_(False)
        self.words = LowerMiniLM()
        C = network.channels
        self.standardize = nn.ModuleList(Standardize(C) for _ in config.sizes)
        sizes = config.hidden, config.embedding, config.dropout
        self.regions = Branch(self.sight.channels + GEOMETRY, *sizes, config.region_dropout)
        self.phrases = Branch(2 * MINILM_HIDDEN, *sizes, config.phrase_dropout)

    def train(self, mode: bool = True) -> Model:
        """Switch dropout and batch norms of the branches.

        Frozen parts stay as they are.
        """
        super().train(mode)
        for frozen in (self.sight, self.proposer, self.words):
            if isinstance(frozen, nn.Module):
                frozen.eval()
        return self

    def prepare(self, regions: Sequence[Tensor]) -> None:
        """Measure train's region features, each (R, C + 4), before the first step."""
        for index, part in enumerate(self.standardize):
            assert isinstance(part, Standardize)
            C = len(part.mean)
            part.fit(features[:, index * C : (index + 1) * C] for features in regions)

    def image_key(self) -> str:
        """Names the frozen part of photos."""
        return json.dumps([self.config.backbone, self.config.sizes, self.proposer.key(), "boxes"])

    def image_inputs(self, images: Sequence[Tensor]) -> list[Tensor]:
        """Features and boxes of the regions, (R, C + 4), of each uint8 photo (3, H, W)."""
        features, boxes = self.sight(images, self.proposer)
        return list(torch.cat([features.float(), boxes], dim=-1))

    def phrase_inputs(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        """The frozen inputs (P, 768) of phrases: means of words in context, and alone.

        Equal phrases are read once. ValueError for a phrase without words.
        """
        wholes = [parse(text) for text in texts]
        places = [
            [words_in(sentence, span) for span in sentence_spans]
            for sentence, sentence_spans in zip(wholes, spans, strict=True)
        ]
        phrases = [
            [text[span.start : span.end] for span in sentence_spans]
            for text, sentence_spans in zip(texts, spans, strict=True)
        ]
        different = list(dict.fromkeys(phrase for group in phrases for phrase in group))
        states = [state[1:-1] for state in self.words([*wholes, *map(parse, different)])]
        alone = dict(zip(different, map(unit, states[len(wholes) :]), strict=True))
        return [
            torch.stack(
                [
                    torch.cat([unit(context[inside]), alone[phrase]])
                    for inside, phrase in zip(places[at], phrases[at], strict=True)
                ]
            )
            for at, context in enumerate(states[: len(wholes)])
        ]

    def region_features(self, inputs: Tensor) -> Tensor:
        """Standardized features with the boxes' geometry (…, C') of inputs (…, C + 4)."""
        features, boxes = inputs[..., :-4].float(), inputs[..., -4:].float()
        parts = zip(self.standardize, features.chunk(len(self.standardize), -1), strict=True)
        standard = [standardize(part) for standardize, part in parts]
        return torch.cat([*standard, geometry(boxes)], dim=-1)

    def phrase_features(self, inputs: Tensor) -> Tensor:
        """Phrases' inputs (P, 768), scaled to about unit deviation."""
        scaled: Tensor = inputs * MINILM_HIDDEN**0.5
        return scaled

    def embed_regions(self, inputs: Tensor) -> Tensor:
        """Unit vectors (K, R, D) of inputs (K, R, C + 4)."""
        vectors: Tensor = self.regions(self.region_features(inputs).flatten(0, 1))
        return vectors.view(*inputs.shape[:2], -1)

    def embed_phrases(self, inputs: Tensor) -> Tensor:
        """Unit vectors (P, D) of inputs (P, 768)."""
        vectors: Tensor = self.phrases(self.phrase_features(inputs))
        return vectors

    def preference(self, regions: int) -> Tensor:
        """The bonus of each proposal for its place, (R,)."""
        device = next(self.phrases.parameters()).device
        places = torch.arange(regions, dtype=torch.float32, device=device)
        places[0] = FRAME
        return -self.config.prior * places.log()

    def similarities(self, regions: Tensor, phrases: Tensor) -> Tensor:
        """Similarities (P, R) of phrases (P, D) to a photo's regions (R, D)."""
        return phrases @ regions.T + self.preference(len(regions))

    @torch.inference_mode()
    def locate(self, image: Tensor, text: str, spans: Sequence[Span]) -> tuple[Tensor, Tensor]:
        """Boxes (R, 4) of a uint8 photo (3, H, W) and phrases' similarities to them, (P, R)."""
        phrases = self.embed_phrases(self.phrase_inputs([text], [spans])[0])
        inputs = self.image_inputs([image])[0]
        regions = self.embed_regions(inputs[None])[0]
        return inputs[:, -4:].cpu(), self.similarities(regions, phrases).cpu()


def words_in(sentence: ParsedSentence, span: Span) -> list[int]:
    """The words in a span of a sentence; ValueError without any."""
    places = [
        at
        for at, word in enumerate(sentence.words)
        if word.span.start < span.end and span.start < word.span.end
    ]
    if not places:
        phrase = sentence.text[span.start : span.end]
        raise ValueError(f"no word in {phrase!r} of {sentence.text!r}")
    return places


def unit(states: Tensor) -> Tensor:
    """The mean of states (T, H), of length one."""
    return F.normalize(states.mean(0), dim=0)


def geometry(boxes: Tensor) -> Tensor:
    """Places, sizes and ranks of boxes (…, R, 4): (…, R, 6)."""
    width, height = (boxes[..., 2:] - boxes[..., :2]).unbind(-1)
    R = boxes.shape[-2]
    place = torch.log1p(torch.arange(R, device=boxes.device)).expand(boxes.shape[:-1])
    parts = torch.cat(
        [2 * boxes - 1, (2 * width * height - 1)[..., None], place[..., None] - 2], -1
    )
    return 3 * parts  # as loud as a few channels together
