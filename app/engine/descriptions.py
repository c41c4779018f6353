"""Descriptions: captions of photos and of their regions, with the matcher's support."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.engine.inference import Models
from app.telemetry.requests import stage
from models.captions import region_captions
from models.captions.forms import keep_well_formed
from models.captions.region_captions import RegionCaption
from models.captions.support import SupportedCaption, support
from models.registry import Caption, Generation
from models.types import FragmentBag
from models.vision.images import Photo
from models.vision.sight import Look

NOTHING_SAID = SupportedCaption(Caption((), 0.0), 0.0, None, None, ())


class NoCaptioner(LookupError):
    """No captioner is loaded."""


class NoRegionCaptioner(LookupError):
    """No captioner of regions is loaded."""


@dataclass(frozen=True, slots=True)
class Description:
    """Captions of a photo, and of its regions, each the best first."""

    captions: tuple[SupportedCaption, ...]
    regions: tuple[RegionCaption, ...] = ()

    @property
    def best(self) -> SupportedCaption:
        """The best caption; one without words where none is well formed."""
        return self.captions[0] if self.captions else NOTHING_SAID


def describe(
    models: Models,
    photo: Photo,
    generation: Generation,
    *,
    regions: int = 0,
    bag: FragmentBag | None = None,
) -> Description:
    """Write captions of a photo, with the matcher's support for their words, and of regions.

    Captions that repeat a content word, or have a broken form, are left out.
    `regions` is how many regions to describe at most: those whose caption is improbable are
    left out. `bag` is the photo's own, where it is known. NoCaptioner and
    NoRegionCaptioner where none is loaded.
    """
    if models.captioner is None:
        raise NoCaptioner("no captioner is loaded; set TESSERA_CAPTIONER to a checkpoint")
    if regions and models.region_captioner is None:
        raise NoRegionCaptioner(
            "no captioner of regions is loaded; set TESSERA_REGION_CAPTIONER to a checkpoint, "
            "or ask for regions=0"
        )
    look = Look(photo.pixels)
    bag = bag or models.bag(look)
    with stage("caption"):
        inputs, boxes = look.by(models.captioner.sight)
        described = models.captioner.describe([inputs], generation.candidates)[0]
        captions = keep_well_formed(described)
    with stage("support"):
        supported = support(
            models.matcher, models.calibration, bag, captions, boxes, models.calibrated
        )
    region_generation = replace(generation, never=models.captioner.find_absent_words(inputs))
    of_regions = _describe_regions(models, look, region_generation, regions, bag) if regions else []
    return Description(tuple(supported[: generation.count]), tuple(of_regions))


def _describe_regions(
    models: Models, look: Look, generation: Generation, count: int, bag: FragmentBag
) -> list[RegionCaption]:
    """Write the best `count` captions of a photo's regions, without weak ones."""
    assert models.region_captioner is not None
    things = models.calibrated.things if models.calibrated else frozenset[str]()
    with stage("caption_regions"):
        inputs, boxes = look.by(models.region_captioner.sight)
        captions = region_captions.describe_regions(
            models.region_captioner, inputs, boxes, generation, things
        )
        ranked = region_captions.rank_regions(models.matcher, models.calibration, bag, captions)
    return region_captions.distinct(ranked, count, models.weak_below)
