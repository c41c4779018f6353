"""A captioner's descriptions of a split's photos, as a service's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

from models.captions.calibration import CaptionCalibration
from models.captions.forms import keep_well_formed
from models.captions.support import support
from models.checkpoint import Checkpoint
from models.registry import Caption, Captioner, Generation
from models.towers import Sight
from models.types import WHOLE_FRAME, Box, FragmentBag, Span
from training.data.corpus import Example
from training.evaluation.captions.measure import GeneratedCaption
from training.evaluation.embedding import encode_inputs, read_pixels
from training.runs.progress import Progress, silent

BATCH = 16  # photos described at once

SeenPhotos = tuple[Sequence[Tensor], Sequence[Tensor | None]]  # features (F, C), boxes (R, 4)


def describe(
    captioner: Captioner,
    examples: Sequence[Example],
    generation: Generation | None = None,
    progress: Progress = silent,
    *,
    inputs: Sequence[Tensor] | None = None,
    judge: Checkpoint | None = None,
    judge_inputs: Sequence[Tensor] | None = None,
    calibrated: CaptionCalibration | None = None,
) -> list[GeneratedCaption]:
    """Describe each photo by its best caption.

    By default of a beam of BEAM.

    `inputs` are the sight's features (F, C) of each photo, if they are known: then the photos are
    not read, and words have no boxes. `judge` is the matcher by which a service ranks candidates
    and finds the boxes of words, and `judge_inputs` are its features. ValueError where only one of
    both features is given and the two see photos in different ways. `calibrated` tells guesses.
    """
    options = generation or Generation()
    alike = judge is None or judge.model.sight.key() == captioner.sight.key()
    if judge and not alike and (inputs is None) != (judge_inputs is None):
        raise ValueError(
            f"the matcher {judge.name} and the captioner see photos by other networks or boxes: "
            "give the features of both, or of neither"
        )
    captions: list[GeneratedCaption] = []
    starts = range(0, len(examples), BATCH)
    for start in progress(starts, len(starts), "captions"):
        batch = slice(start, start + BATCH)
        photos = see_photos(captioner.sight, examples[batch], inputs and inputs[batch])
        if judge is None:
            captions += caption_photos(captioner, photos, options)
            continue
        stored = judge_inputs and judge_inputs[batch]
        judged = photos if alike else see_photos(judge.model.sight, examples[batch], stored)
        captions += caption_with_judge(captioner, judge, photos, judged, options, calibrated)
    return captions


def caption_photos(
    captioner: Captioner, photos: SeenPhotos, options: Generation
) -> list[GeneratedCaption]:
    """Describe photos by the captioner alone."""
    features, boxes = photos
    return [
        GeneratedCaption(candidates[0].text, dict(locate_words(candidates[0], photo_boxes)))
        for candidates, photo_boxes in zip(
            captioner.describe(features, options), boxes, strict=True
        )
    ]


def caption_with_judge(
    captioner: Captioner,
    judge: Checkpoint,
    photos: SeenPhotos,
    judged: SeenPhotos,
    options: Generation,
    calibrated: CaptionCalibration | None,
) -> list[GeneratedCaption]:
    """Describe photos by a captioner's candidates and a matcher's ranks."""
    beams = captioner.describe(photos[0], options.candidates)
    return [
        judge_candidates(
            judge, embed_photo(judge, judge_features, judge_boxes), candidates, boxes, calibrated
        )
        for candidates, boxes, judge_features, judge_boxes in zip(
            beams, photos[1], *judged, strict=True
        )
    ]


def see_photos(
    sight: Sight, examples: Sequence[Example], inputs: Sequence[Tensor] | None
) -> SeenPhotos:
    """Return features (F, C) and boxes (R, 4) of photos; known features have no boxes."""
    if inputs is not None:
        return inputs, [None] * len(inputs)
    features, boxes = sight([read_pixels(example.image) for example in examples])
    return features, boxes


def embed_photo(judge: Checkpoint, inputs: Tensor, boxes: Tensor | None) -> FragmentBag:
    """Embed a photo's features (F, C) and boxes (R, 4) by a matcher."""
    if boxes is None:
        (vectors,) = encode_inputs(judge.model, [inputs])
        return FragmentBag(vectors, (WHOLE_FRAME,) * len(vectors), ("",) * len(vectors))
    bags: list[FragmentBag] = judge.model.embed_inputs([inputs], [boxes])
    return bags[0]


def judge_candidates(
    judge: Checkpoint,
    bag: FragmentBag,
    candidates: Sequence[Caption],
    boxes: Tensor | None,
    calibrated: CaptionCalibration | None = None,
) -> GeneratedCaption:
    """Choose the best candidate of captioner and matcher, with boxes.

    `bag` is the photo's by the matcher, `boxes` (R, 4) are the captioner's.
    """
    candidates = keep_well_formed(candidates) or candidates
    best = support(judge.model, judge.calibration, bag, candidates, boxes, calibrated)[0]
    linked = {word.span: word.box for word in best.words if word.box and boxes is not None}
    attended_boxes = dict(locate_words(best.caption, boxes))
    unsure = None
    if best.probability is not None and judge.calibration:
        least = calibrated.unsure_below if calibrated else judge.calibration.weak_below
        unsure = best.unsure(least)
    return GeneratedCaption(
        best.text, attended_boxes, linked, best.probability, unsure, best.features
    )


def locate_words(caption: Caption, boxes: Tensor | None) -> Iterator[tuple[Span, Box]]:
    """Give each attending word's place and most attended box."""
    start = 0
    for word in caption.words:
        if word.attention is not None and boxes is not None:
            best = boxes[int(word.attention.argmax())]
            yield Span(start, start + len(word.text)), Box(*best.tolist())
        start += len(word.text) + 1
