"""Analyses of a checkpoint: measurements, and a look inside."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import typer
from rich.console import Console, RenderableType
from torch import Tensor

from models import checkpoint, whole_files
from models.checkpoint import Checkpoint
from models.registry import BEAM, Generation
from models.vision.regions import crop
from training.captioners import describe as describing
from training.captioners.train import frozen_inputs
from training.data.corpus import Example
from training.data.entities import GroundTruth
from training.evaluation import tables
from training.evaluation.captions.measure import GeneratedCaption, descriptions
from training.evaluation.captions.naming import naming
from training.evaluation.captions.spice import Program
from training.evaluation.captions.tables import format_descriptions, format_naming
from training.evaluation.captions.wordnet import WordNet
from training.evaluation.embedding import encode_inputs, read_pixels
from training.evaluation.measure import measure, measure_ranks
from training.evaluation.open_world import open_world
from training.evaluation.outstanding_parts import RankedRegion
from training.evaluation.queries import NaturalQuery
from training.grounders import train as grounding
from training.markdown import slashed
from training.matchers.frozen import FrozenInputs, precision_of
from training.proposers import train as proposals
from training.report import contact_sheet
from training.runs.folder import RunPlace
from training.runs.progress import Progress


@dataclass(frozen=True, slots=True)
class Exam:
    """The examples of a measurement, the questions, and the place to compute.

    fields and queries: searches over the photos. occluded: the number of photos that lose a region.
    frozen: use the features in `cache`, which have no boxes. train: sentences that a captioner may
    repeat. judge: the matcher that ranks a captioner's candidates and finds their words' boxes.
    beam: hypotheses of a captioner. spice: the program that measures SPICE, if wanted.
    """

    examples: Sequence[Example]
    truth: GroundTruth
    cache: Path
    progress: Progress
    device: str
    fields: Sequence[str] = ()
    queries: Sequence[NaturalQuery] = ()
    occluded: int = 0
    frozen: bool = False
    train: Sequence[Example] = ()
    judge: Checkpoint | None = None
    beam: int = BEAM
    spice: Program | None = None

    @property
    def place(self) -> RunPlace:
        """The place of frozen features: their cache and the device."""
        return RunPlace(self.cache, self.cache, self.device)

    def vectors(self, loaded: Checkpoint) -> list[Tensor]:
        """Compute the photos' vectors (R_k, D) from their frozen features."""
        frozen = FrozenInputs(loaded.model, self.place, precision_of(loaded), self.progress)
        return encode_inputs(loaded.model, frozen.photos(self.examples, "these"), self.progress)

    def inputs(self, loaded: Checkpoint) -> Sequence[Tensor] | None:
        """Return the photos' frozen features (F, C); None if photos are to be read."""
        if not self.frozen:
            return None
        precision = precision_of(loaded)
        return frozen_inputs(loaded.model, self.examples, self.place, precision, self.progress)


def sample(
    examples: Sequence[Example], split: str, limit: int | None
) -> tuple[Sequence[Example], str]:
    """Draw at most `limit` examples, always equal, and name them.

    The examples keep their order. The name tells a part of a split from the whole.
    """
    if limit is None or limit >= len(examples):
        return examples, split
    positions = Random(0).sample(range(len(examples)), limit)  # noqa: S311 - no secret
    chosen = [examples[position] for position in sorted(positions)]
    return chosen, f"{split}, {limit:,} of {len(examples):,} photos"


def name_checkpoint(loaded: Checkpoint) -> dict[str, Any]:
    """Return the facts of a checkpoint for the names of measurements."""
    facts = loaded.facts
    return {
        "checkpoint": loaded.fingerprint,
        "name": loaded.name,
        "preset": facts.get("preset", {}).get("name", loaded.name),
        "trained_on": facts.get("data", {}).get("name"),
        "seed": facts.get("seed"),
    }


Outcome = tuple[RenderableType, dict[str, Any]]


def examine_matcher(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Retrieval both ways, and the faithfulness of links."""
    model, examples, progress, device = loaded.model, exam.examples, exam.progress, exam.device
    if exam.frozen and exam.occluded:
        raise ValueError("frozen features have no boxes to grey out: leave out --frozen")
    if exam.frozen:
        vectors = exam.vectors(loaded)
        measured = measure_ranks(model, examples, vectors, None, progress, device)
    else:
        measured = measure(model, examples, exam.truth, progress, device, exam.occluded)
    return tables.format_metrics(measured), asdict(measured)


def examine_search(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Search by the values of fields and by natural queries."""
    if loaded.kind != "matchers":
        raise ValueError(f"--field and --queries need a matcher; this is one of the {loaded.kind}")
    measured = open_world(
        loaded.model, exam.examples, exam.fields, exam.queries, exam.progress, exam.device,
        (lambda: exam.vectors(loaded)) if exam.frozen else None,
    )  # fmt: skip
    return tables.format_searches(measured), asdict(measured)


def examine_captioner(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Measure captions against sentences and boxes, and copies of train's sentences."""
    captions = describe_photos(loaded, exam)
    measured = descriptions(captions, exam.examples, exam.train, exam.truth, exam.spice)
    ranked = {"ranked_by": exam.judge.fingerprint} if exam.judge else {}
    options = loaded.facts.get("recipe", {}).get("options", {})
    settings = {"options": options, "beam": exam.beam}
    return format_descriptions(measured), settings | ranked | asdict(measured)


def examine_naming(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Measure the persons and animals in captions of photos without sentences."""
    if loaded.kind != "captioners":
        raise ValueError(f"--no-sentences needs a captioner; this is one of the {loaded.kind}")
    captions = describe_photos(loaded, exam)
    ids = [example.id for example in exam.examples]
    measured = naming(captions, ids, WordNet())
    ranked = {"ranked_by": exam.judge.fingerprint} if exam.judge else {}
    return format_naming(measured), {"beam": exam.beam} | ranked | asdict(measured)


def describe_photos(loaded: Checkpoint, exam: Exam) -> list[GeneratedCaption]:
    """A captioner's caption of each photo, as it is asked for."""
    judge, captions = exam.judge, loaded.captions
    fits = judge and captions and captions.matcher == judge.fingerprint
    return describing.describe(
        loaded.model, exam.examples, Generation(beam=exam.beam), exam.progress,
        inputs=exam.inputs(loaded), judge=judge,
        judge_inputs=exam.inputs(judge) if judge else None,
        calibrated=captions if fits else None,
    )  # fmt: skip


def examine_proposer(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Recall of phrases' boxes."""
    recalls = proposals.evaluate(
        loaded.model, exam.examples, exam.truth, exam.cache, exam.progress, exam.device
    )
    counts = " / ".join(map(str, recalls))
    return f"boxes found in the first {counts}: {slashed(recalls.values())}", {"recalls": recalls}


def examine_grounder(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Localisation of phrases."""
    phrases = grounding.make_dataset(
        loaded.model, exam.examples, exam.truth, exam.cache, exam.progress
    )
    measured = grounding.measure(loaded.model, phrases, exam.device)
    recipe = loaded.facts.get("recipe", {})
    preset = recipe.get("preset") or ("supervised" if recipe.get("boxes") else "weak")
    numbers = {"preset": f"{loaded.name}, {preset}", "grounding": asdict(measured)}
    return tables.format_localisation(measured), numbers


EXAMS: Mapping[str, Callable[[Checkpoint, Exam], Outcome]] = {
    "matchers": examine_matcher,
    "captioners": examine_captioner,
    "proposers": examine_proposer,
    "grounders": examine_grounder,
}


def choose_exam(
    loaded: Checkpoint, *, searches: bool, unwritten: bool
) -> Callable[[Checkpoint, Exam], Outcome]:
    """Choose the measurement: searches, naming by captions, or the usual one."""
    if searches and unwritten:
        raise ValueError("--no-sentences is for captioners, --field and --queries for matchers")
    if searches:
        return examine_search
    return examine_naming if unwritten else EXAMS[loaded.kind]


TAKERS = {
    "frozen": ("matchers", "captioners"),
    "occlude": ("matchers",),
    "beam": ("captioners",),
    "spice": ("captioners",),
}  # kinds of checkpoint that take an option of `tessera evaluate`


def refuse_unused(kind: str, **options: object) -> None:
    """Raise ValueError for an option without effect on a kind."""
    for option, value in options.items():
        if value and kind not in TAKERS[option]:
            takers = " and ".join(TAKERS[option])
            raise ValueError(f"--{option} is for {takers}, this is one of the {kind}: leave it out")


def load_matcher(file: Path, device: str) -> Checkpoint:
    """A matcher's checkpoint; ValueError for another kind of model."""
    loaded = checkpoint.load(file, device)
    if loaded.kind != "matchers":
        raise ValueError(f"{file} is one of the {loaded.kind}; give a matcher's checkpoint")
    return loaded


def load_judge(loaded: Checkpoint, file: Path | None, device: str) -> Checkpoint | None:
    """Load the matcher to rank a captioner's candidates.

    ValueError where the checkpoint is no captioner.
    """
    if file and loaded.kind != "captioners":
        raise ValueError("--matcher ranks the candidates of a captioner: leave it out")
    return load_matcher(file, device) if file else None


def draw_regions(
    out: Path, chosen: Sequence[RankedRegion], examples: Sequence[Example], value: str
) -> None:
    """Draw regions as a sheet, and list them."""
    crops = [crop(read_pixels(examples[region.photo].image), region.box) for region in chosen]
    contact_sheet.write(out, crops)
    Console().print(tables.format_regions(chosen, [examples[r.photo].id for r in chosen], value))
    typer.echo(out)


def list_regions(
    chosen: Sequence[RankedRegion], examples: Sequence[Example]
) -> list[dict[str, Any]]:
    """Regions with their photos' ids."""
    return [asdict(region) | {"photo": examples[region.photo].id} for region in chosen]


def store(file: Path | None, numbers: Mapping[str, Any]) -> None:
    """Write numbers as JSON, if a file is given."""
    if file:
        whole_files.write_text(file, json.dumps(numbers, indent=2) + "\n")
