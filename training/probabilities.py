"""Probabilities of matchers and captioners: fitted, measured and stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from models import checkpoint
from models.checkpoint import Checkpoint
from training.captioners import calibration as caption_calibration
from training.data.corpus import Corpus, Example
from training.evaluation.reliability import Reliability
from training.matchers.probabilities import calibration
from training.matchers.probabilities.text_calibration import calibrate_texts
from training.runs.folder import RunPlace
from training.runs.progress import Progress


def calibrate(
    loaded: Checkpoint,
    ranking: Checkpoint | None,
    corpora: Sequence[Corpus],
    place: RunPlace,
    out: Path,
    progress: Progress,
    *,
    texts: bool = False,
    others: Sequence[Example] | None = None,
) -> tuple[Mapping[str, Reliability], dict[str, Any]]:
    """Write the matcher or captioner of `place.out` into `out` with probabilities.

    The calibration is fitted on the first corpus, a captioner's on `others` as well, and measured
    on all corpora. With `texts`, a matcher keeps its own but for texts and texts. ValueError for
    another kind of model.
    """
    if texts and loaded.kind != "matchers":
        raise ValueError(f"--texts is for matchers; {place.out} is one of the {loaded.kind}")
    if others is not None and loaded.kind != "captioners":
        raise ValueError(f"--labels is for captioners; {place.out} is one of the {loaded.kind}")
    if loaded.kind == "captioners":
        captions, curves = caption_calibration.calibrate(
            loaded, ranking, corpora, place, progress, others or ()
        )
        checkpoint.calibrate_captions(place.out, out, captions)
        return curves, {"unsure_below": captions.unsure_below} | captions.facts
    if loaded.kind != "matchers":
        raise ValueError(
            f"{place.out} is one of the {loaded.kind}; give a matcher's or a captioner's checkpoint"
        )
    if texts:
        calibrated, curves = calibrate_texts(loaded, corpora[0], corpora[1:], progress)
    else:
        calibrated, curves = calibration.calibrate(
            loaded.model, corpora[0], corpora[1:], progress, place.device
        )
    checkpoint.calibrate(place.out, out, calibrated)
    return curves, {"weak_below": calibrated.weak_below} | calibrated.facts
