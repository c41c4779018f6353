"""Captions of regions against people's phrases for true boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.captions.captioning import LanguageCaptioner
from models.checkpoint import Checkpoint
from models.matcher import TwoTowerMatcher
from models.registry import BEAM, Generation
from models.towers import ImageTower
from models.types import Box, PaddedBags
from models.vision.sight import ViewSight
from training.captioners import snippets
from training.captioners import train as captioning
from training.data.corpus import Corpus, Example
from training.data.digests import digest, file_digest
from training.data.entities import GroundedSentence, GroundTruth
from training.evaluation.captions.measure import TextScores, score_texts
from training.evaluation.embedding import read_pixels
from training.matchers.frozen import precision_of
from training.runs.cache import load_or_compute
from training.runs.folder import RunPlace
from training.runs.precision import half_precision
from training.runs.progress import Progress, silent

DESCRIBED = 64  # regions described, or compared with all snippets, at once


@dataclass(frozen=True, slots=True)
class TrueRegion:
    """A true box of a photo, the photo's number, and its phrases."""

    photo: int
    box: Box
    phrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Regions:
    """True boxes of a split as a sight sees them.

    rows (B, C) are the features in the boxes, in the order of `true`; inputs (F, C) are each
    photo's.
    """

    true: Sequence[TrueRegion]
    rows: Tensor
    inputs: Sequence[Tensor]

    def score(self, texts: Sequence[str]) -> TextScores:
        """Score a text for each box against the box's phrases."""
        return score_texts(texts, [region.phrases for region in self.true])


def find_true_regions(examples: Sequence[Example], truth: GroundTruth) -> list[TrueRegion]:
    """Every true box of photos once; LookupError if there is none."""
    regions = [
        TrueRegion(number, box, phrases)
        for number, example in enumerate(examples)
        for box, phrases in group_phrases(truth.get(example.image.name, ())).items()
    ]
    if not regions:
        raise LookupError("no photo has a true box: are the boxes of these photos?")
    return regions


def group_phrases(sentences: Sequence[GroundedSentence]) -> dict[Box, tuple[str, ...]]:
    """The boxes of a photo's phrases, and the phrases of each."""
    boxes: dict[Box, tuple[str, ...]] = {}
    for sentence in sentences:
        for phrase in sentence.phrases:
            for box in phrase.boxes:
                boxes[box] = (*boxes.get(box, ()), phrase.text)
    return boxes


def see_true_regions(
    model: LanguageCaptioner | ImageTower,
    examples: Sequence[Example],
    truth: GroundTruth,
    place: RunPlace,
    precision: str,
    progress: Progress = silent,
) -> Regions:
    """See true boxes of photos by a model's sight, through the cache.

    ValueError for a sight without regions, LookupError where no photo has a true box.
    """
    sight = require_regions(model)
    true = find_true_regions(examples, truth)
    boxes: list[list[Box]] = [[] for _ in examples]
    for region in true:
        boxes[region.photo].append(region.box)

    def see_inside(photos: Sequence[int]) -> list[Tensor]:
        photo_boxes = [torch.tensor(boxes[photo]).view(-1, 4) for photo in photos]
        pictures = [read_pixels(examples[photo].image) for photo in photos]
        with half_precision(place.device, precision):
            return sight.inside(pictures, photo_boxes)

    rows = load_or_compute(
        place.cache / "boxes",
        f"{precision} {sight.names[-1]}",
        range(len(examples)),
        [
            digest(file_digest(example.image), repr(photo_boxes))
            for example, photo_boxes in zip(examples, boxes, strict=True)
        ],
        see_inside,
        progress,
        "true boxes",
    )
    inputs = captioning.frozen_inputs(model, examples, place, precision, progress)
    return Regions(true, torch.cat(list(rows)), inputs)


def require_regions(model: LanguageCaptioner | ImageTower) -> ViewSight:
    """Return the sight of a model of regions; ValueError for another model."""
    describes = not isinstance(model, LanguageCaptioner) or model.of_regions
    if not (describes and isinstance(model.sight, ViewSight)):
        raise ValueError(
            "this captioner describes whole photos by more than a region's features: give one of "
            "the preset regions, or one of multimodal-rnn"
        )
    return model.sight


def describe_regions(
    captioner: LanguageCaptioner, regions: Regions, progress: Progress = silent, beam: int = BEAM
) -> list[str]:
    """Describe each box alone, as if it were a photo."""
    starts = range(0, len(regions.rows), DESCRIBED)
    return [
        best[0].text
        for at in progress(starts, len(starts), "regions")
        for best in captioner.describe(
            list(regions.rows[at : at + DESCRIBED, None]), Generation(beam)
        )
    ]


@torch.inference_mode()
def retrieve_texts(
    matcher: TwoTowerMatcher, regions: Regions, sums: Tensor, texts: Sequence[str]
) -> list[str]:
    """Retrieve a matcher's best text for each box.

    v_i · Σ_t s_t, with the sums (S, D) of the texts' fragments: the ranking baseline of Karpathy &
    Fei-Fei (2015), section 4.3. Each box is seen in its photo, as its likeliest region.
    """
    assert isinstance(matcher.image.sight, ViewSight)
    views = len(matcher.image.sight.views)
    best: list[str] = []
    for at in range(0, len(regions.rows), DESCRIBED):
        batch = zip(regions.true[at : at + DESCRIBED], regions.rows[at:], strict=False)
        bags = matcher.image_bags(
            PaddedBags.of(
                [
                    torch.cat([regions.inputs[region.photo][:views], row[None]])
                    for region, row in batch
                ]
            )
        )
        nearest = (bags.vectors[:, 1].float().cpu() @ sums.T).argmax(1)
        best += [texts[index] for index in nearest.tolist()]
    return best


def embed_snippets(
    loaded: Checkpoint,
    examples: Sequence[Example],
    inputs: Sequence[Tensor],
    cache: Path,
    progress: Progress = silent,
) -> tuple[Tensor, list[str]]:
    """Compute the sums (S, D) of the fragments of train's snippets."""
    bags = snippets.compare_sentences(loaded, examples, inputs, cache, progress)
    options = snippets.SnippetOptions()
    unique = {
        text.lower()
        for example, sentence_bags in zip(examples, bags, strict=True)
        for texts in snippets.group_by_region(example, sentence_bags, options).values()
        for text in texts
    }
    texts = sorted(unique, key=lambda text: (len(text), text))  # texts of a length need no padding

    def embed(batch: Sequence[str]) -> list[Tensor]:
        return [bag.vectors.sum(0)[None] for bag in loaded.model.embed_sentences(batch)]

    sums = load_or_compute(
        cache / "snippets",
        loaded.fingerprint,
        texts,
        [digest(text) for text in texts],
        embed,
        progress,
        "snippets",
    )
    return torch.cat(list(sums)), texts


def measure_region_captions(
    loaded: Checkpoint,
    corpus: Corpus,
    truth: GroundTruth,
    split: str,
    place: RunPlace,
    progress: Progress = silent,
    beam: int = BEAM,
) -> tuple[TextScores, dict[str, Any]]:
    """Score a captioner's, or a matcher's, texts for true boxes.

    Also return the facts of the measurement. ValueError for another kind of checkpoint.
    """
    if loaded.kind not in ("captioners", "matchers"):
        raise ValueError(
            f"captioners describe regions, matchers retrieve; this is one of the {loaded.kind}"
        )
    model = loaded.model if loaded.kind == "captioners" else loaded.model.image
    regions = see_true_regions(
        model, corpus.split(split), truth, place, precision_of(loaded), progress
    )
    if loaded.kind == "captioners":
        texts = describe_regions(loaded.model, regions, progress, beam)
        snippet_options = loaded.facts.get("recipe", {}).get("snippets")
        source = "regions" if snippet_options else "whole photos"
    else:
        texts = retrieve_snippets(loaded, regions, corpus.split("train"), place, progress)
        source = "nearest"
    score = regions.score(texts)
    return score, {
        "learned_from": source,
        "options": loaded.facts.get("recipe", {}).get("options", {}),
        "regions": len(texts),
        "beam": beam,
        "region_bleu": score.bleu,
        "length_ratio": score.length_ratio,
        "meteor": score.meteor,
        "rouge": score.rouge,
        "cider": score.cider,
        "words": sum(len(text.split()) for text in texts) / len(texts),
    }


def retrieve_snippets(
    loaded: Checkpoint,
    regions: Regions,
    train: Sequence[Example],
    place: RunPlace,
    progress: Progress = silent,
) -> list[str]:
    """Retrieve a matcher's nearest snippet of train for each box."""
    precision = precision_of(loaded)
    inputs = captioning.frozen_inputs(loaded.model.image, train, place, precision, progress)
    sums, texts = embed_snippets(loaded, train, inputs, place.cache, progress)
    return retrieve_texts(loaded.model, regions, sums, texts)
