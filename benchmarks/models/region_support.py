"""Support of region captions: thresholds and ranking.

    python -m benchmarks.models.region_support flickr8k/ --photos 150
    python -m benchmarks.models.region_support flickr8k/ --photos 150 --without-persons products/

A service describes the regions of photos of the split val. A region's caption is right if its last
noun is in a phrase that names a true box with IoU ≥ 0.5 to the region; regions far from all true
boxes are not judged. Compared are the captioner's likeliest caption of each region, the one that
captioner and matcher rank first, and that one without words of kinds that the photo shows nothing
of. The thresholds are the probability with the best balanced accuracy, and the one below which a
hit is weak, which a service takes.

Of photos that show no person, it prints how many of the captions that a service gives name one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torchvision.ops import box_iou

from benchmarks.models.caption_support import auc, best_threshold, forms, rates
from models import checkpoint, shipped
from models.captions import region_captions
from models.captions.region_captions import RegionCaption
from models.registry import BEAM, Captioner, Generation, Matcher
from models.scores.calibration import Calibration
from models.text.parsing import parse_trees
from models.types import Box
from models.vision.sight import Look, share_sight
from training.analysis import sample
from training.captioners.regions import group_phrases as true_names
from training.data import catalogue, entities
from training.data import readers as folders
from training.data.corpus import Example
from training.data.entities import GroundedSentence
from training.evaluation.captions.hallucination import find_nouns
from training.evaluation.captions.wordnet import WordNet
from training.evaluation.embedding import read_pixels
from training.evaluation.localisation import IOU

ALONE, RANKED, WITHOUT = "captioner alone", "ranked with the matcher", "without absent kinds"
WAYS = (ALONE, RANKED, WITHOUT)
GIVEN = 12  # regions that the page asks for


@dataclass(frozen=True, slots=True)
class RegionCaptioning:
    """Captioners of regions and photos, and a calibrated matcher."""

    matcher: Matcher
    calibration: Calibration
    captioner: Captioner
    whole: Captioner
    beam: int

    def regions(self, look: Look, way: str) -> list[RegionCaption]:
        """The caption of each region of a photo."""
        whole_inputs, _ = look.by(self.whole.sight)
        never = self.whole.find_absent_words(whole_inputs) if way == WITHOUT else frozenset[str]()
        generation = Generation(beam=1 if way == ALONE else self.beam, never=never)
        (bag,) = self.matcher.embed_inputs(*([part] for part in look.by(self.matcher.sight)))
        inputs, boxes = look.by(self.captioner.sight)
        captions = region_captions.describe_regions(self.captioner, inputs, boxes, generation)
        return region_captions.rank_regions(self.matcher, self.calibration, bag, captions)


def judge_regions(
    regions: Sequence[RegionCaption], grounded: Sequence[GroundedSentence]
) -> Iterator[tuple[float, bool]]:
    """Probability and truth of each region's caption near a true box."""
    true = true_names(grounded)
    if not true or not regions:
        return
    phrases = dict(zip(true, map(words, true.values()), strict=True))
    trees = parse_trees([region.caption.text for region in regions])
    overlaps = box_iou(corners([region.box for region in regions]), corners(list(true)))  # (R, B)
    for region, tree, row in zip(regions, trees, overlaps, strict=True):
        if row.max() >= IOU:
            noun = [word for word in tree.words if word.tag.startswith("NN")][-1]
            names = phrases[list(true)[int(row.argmax())]]
            yield region.probability or 0.0, not names.isdisjoint(forms(noun))


def words(phrases: Sequence[str]) -> set[str]:
    """All words of phrases, and their lemmas."""
    return {form for tree in parse_trees(phrases) for word in tree.words for form in forms(word)}


def corners(boxes: Sequence[Box]) -> torch.Tensor:
    """Boxes as (B, 4)."""
    return torch.tensor(list(boxes))


def table(by_way: Mapping[str, Sequence[tuple[float, bool]]], weak_below: float) -> None:
    """Print lines by way, for the best threshold and for weak hits."""
    for way, regions in by_way.items():
        values, truth = np.array([p for p, _ in regions]), np.array([right for _, right in regions])
        area = auc(values, truth)
        print(f"{way}: {len(regions):,} regions, {truth.mean():.3f} right; area {area:.3f}")
        for least in (best_threshold(values, truth), weak_below):
            kept_share, marked = rates(values, truth, least)
            print(
                f"  from {least:.3f} on {kept_share:.3f} of the right kept, "
                f"{marked:.3f} of the wrong left out, {truth[values >= least].mean():.3f} right"
            )


def judge_photos(
    service: RegionCaptioning,
    examples: Sequence[Example],
    truth: Mapping[str, Sequence[GroundedSentence]],
) -> dict[str, list[tuple[float, bool]]]:
    """The judged regions of photos, by way."""
    by_way: dict[str, list[tuple[float, bool]]] = {way: [] for way in WAYS}
    for example in examples:
        look = Look(read_pixels(example.image))
        for way in WAYS:
            regions = service.regions(look, way)
            by_way[way] += judge_regions(regions, truth.get(example.image.name, ()))
    return by_way


def persons(service: RegionCaptioning, examples: Sequence[Example]) -> None:
    """Print the number of region captions with a person."""
    wordnet, least = WordNet(), service.calibration.weak_below
    captions: dict[str, list[str]] = {way: [] for way in WAYS[1:]}
    for example in examples:
        look = Look(read_pixels(example.image))
        for way, texts in captions.items():
            regions = region_captions.distinct(service.regions(look, way), GIVEN, least)
            texts += [region.caption.text for region in regions]
    for way, texts in captions.items():
        named = sum(
            any(wordnet.is_person(noun.name) for noun in find_nouns(tree, wordnet))
            for tree in parse_trees(texts)
        )
        print(f"{way}: {named} of {len(texts)} captions of {len(examples)} photos name a person")


def main() -> None:
    """Judge the regions of photos and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path)
    options.add_argument("--captioner", type=Path, default=shipped.REGION_CAPTIONER)
    options.add_argument("--whole", type=Path, default=shipped.CAPTIONER)
    options.add_argument("--matcher", type=Path, default=shipped.MATCHER)
    options.add_argument("--beam", type=int, default=BEAM)
    options.add_argument("--photos", type=int, help="of each corpus; all of val if not given")
    options.add_argument("--without-persons", type=Path, help="photos that show none, to count")
    chosen = options.parse_args()
    loaded = checkpoint.load(chosen.matcher)
    boxes = entities.find(chosen.data)
    if loaded.calibration is None or boxes is None:
        options.error("needs a calibrated matcher, and a file of true boxes in the data folder")
    captioner: Captioner = checkpoint.load(chosen.captioner).model
    whole: Captioner = checkpoint.load(chosen.whole).model
    share_sight(loaded.model.sight, captioner, whole)
    examples = folders.read(chosen.data).split("val")[: chosen.photos]
    service = RegionCaptioning(loaded.model, loaded.calibration, captioner, whole, chosen.beam)
    by_way = judge_photos(service, examples, entities.read(boxes))
    table(by_way, loaded.calibration.weak_below)
    if chosen.without_persons:
        photos, _ = sample(catalogue.read(chosen.without_persons).split("val"), "", chosen.photos)
        persons(service, photos)


if __name__ == "__main__":
    main()
