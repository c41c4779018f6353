"""The commands that measure or look inside: evaluate, calibrate, magnitudes, regions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from models import checkpoint
from models.checkpoint import Checkpoint
from models.types import FragmentBag
from training import calibration, captioning, contact_sheet, grounding, progress, proposals
from training.data import entities, folders
from training.data.corpus import Example
from training.evaluation import regions, reliability, tables
from training.evaluation.magnitudes import LEAST_COUNT, magnitudes
from training.evaluation.measure import Boxes, embedded, measure, photos, pixels
from training.evaluation.regions import Region
from training.options import FEATURES, Cache, Data, Device, Images, Parser, TrueBoxes, plain_errors
from training.progress import Progress
from training.report import slashed

app = typer.Typer()

File = Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A .safetensors file.")]
Numbers = Annotated[Path | None, typer.Option("--json", help="Write the numbers.")]
Sheet = Annotated[Path, typer.Option("--out", help="The .png of regions to write.")]
Count = Annotated[int, typer.Option(min=1, help="Regions on the sheet, one a photo.")]


@dataclass(frozen=True, slots=True)
class Exam:
    """What a checkpoint is measured on, and by which means."""

    examples: Sequence[Example]
    truth: Boxes
    cache: Path
    progress: Progress
    device: str


@app.command()
def evaluate(
    file: File,
    data: Data,
    images: Images = None,
    split: str = "val",
    boxes: TrueBoxes = None,
    json_file: Numbers = None,
    cache: Cache = FEATURES,
    device: Device = "cpu",
    parser: Parser = None,
) -> None:
    """Measure a checkpoint on a split: retrieval and links, captions, phrases' boxes or proposals.

    Example: tessera evaluate runs/dvsa-0/matcher.safetensors --data flickr8k/ --split val
    """
    console = Console(stderr=True)
    with plain_errors(console, parser):
        loaded = checkpoint.load(file, device)
        corpus = folders.read(data, images)
        found = boxes or entities.find(data if data.is_dir() else data.parent)
        truth = entities.read(found) if found else {}
        exam = Exam(corpus.split(split), truth, cache, progress.on(console), device)
        shown, numbers = EXAMS[loaded.kind](loaded, exam)
        Console().print(f"{loaded.name} {loaded.fingerprint}, {corpus.name} {split}")
        Console().print(shown)
        told = {"checkpoint": loaded.fingerprint, "name": loaded.name, "data": corpus.name}
        store(json_file, told | {"split": split, "seed": loaded.facts.get("seed")} | numbers)


Outcome = tuple[RenderableType, dict[str, Any]]


def of_matcher(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Retrieval both ways, and what links are worth."""
    found = measure(loaded.model, exam.examples, exam.truth, exam.progress, exam.device)
    preset = loaded.facts.get("preset", {}).get("name", loaded.name)
    return tables.metrics(found), {"preset": preset} | asdict(found)


def of_captioner(loaded: Checkpoint, exam: Exam) -> Outcome:
    """BLEU."""
    found = captioning.evaluate(loaded.model, exam.examples, progress=exam.progress)
    return f"BLEU-1 to 4: {slashed(found.scores)}", {"bleu": found.scores}


def of_proposer(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Recall of phrases' boxes."""
    found = proposals.evaluate(
        loaded.model, exam.examples, exam.truth, exam.cache, exam.progress, exam.device
    )
    counts = " / ".join(map(str, found))
    return f"boxes found in the first {counts}: {slashed(found.values())}", {"recalls": found}


def of_grounder(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Localisation of phrases."""
    lessons = grounding.learned_from(
        loaded.model, exam.examples, exam.truth, exam.cache, exam.progress
    )
    found = grounding.measured(loaded.model, lessons, exam.device)
    told = "told boxes" if loaded.facts.get("recipe", {}).get("boxes") else "not told boxes"
    return tables.boxes(found), {"preset": f"{loaded.name}, {told}", "grounding": asdict(found)}


EXAMS: Mapping[str, Callable[[Checkpoint, Exam], Outcome]] = {
    "matchers": of_matcher,
    "captioners": of_captioner,
    "proposers": of_proposer,
    "grounders": of_grounder,
}


@app.command()
def calibrate(
    file: File,
    data: Data,
    images: Images = None,
    check: Annotated[
        list[Path] | None, typer.Option(help="Another corpus, whose split val is measured only.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The checkpoint to write. [default: CHECKPOINT, anew]")
    ] = None,
    json_file: Numbers = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the curves into this .svg.")] = None,
    device: Device = "cpu",
    parser: Parser = None,
) -> None:
    """Give a matcher probabilities: fit on one half of val's photos, measure on the other.

    Example: tessera calibrate matcher.safetensors --data flickr8k/ --check pascal_part/
    """
    console = Console(stderr=True)
    with plain_errors(console, parser):
        loaded = matcher(file, device)
        corpora = [folders.read(data, images), *map(folders.read, check or ())]
        made, told = calibration.calibrate(
            loaded.model, corpora[0], corpora[1:], progress.on(console), device
        )
        checkpoint.calibrate(file, out or file, made)
        Console().print(tables.reliabilities(told))
        Console().print(f"hits below a probability of {made.weak_below:.2f} are weak")
        store(
            json_file,
            {"checkpoint": loaded.fingerprint, "weak_below": made.weak_below} | made.facts,
        )
        if picture:
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_text(reliability.draw(told), encoding="utf-8")
        typer.echo(out or file)


@app.command(name="magnitudes")
def show_magnitudes(
    file: File,
    data: Data,
    images: Images = None,
    split: str = "val",
    out: Sheet = Path("magnitudes.png"),
    count: Count = 24,
    least_count: Annotated[
        int, typer.Option(min=1, help="Leave out words that come less often.")
    ] = LEAST_COUNT,
    json_file: Numbers = None,
    device: Device = "cpu",
    parser: Parser = None,
) -> None:
    """Show which words and regions weigh most: mean |s| a word, the regions of the largest |v|.

    Example: tessera magnitudes models/pretrained/matcher.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, parser):
        loaded = matcher(file, device)
        examples, watch = folders.read(data, images).split(split), progress.on(console)
        texts = [text for example in examples for text in example.sentences]
        spoken = embedded(loaded.model.embed_sentences, texts, watch, "sentences")
        words = magnitudes(spoken, least_count)
        Console().print(tables.extremes(words))
        found = regions.longest(photos(loaded.model, examples, watch), count)
        draw(out, found, examples, "|v|")
        numbers = {"checkpoint": loaded.fingerprint, "words": [asdict(word) for word in words]}
        store(json_file, numbers | {"regions": listed(found, examples)})


@app.command(name="regions")
def show_regions(
    file: File,
    snippet: Annotated[str, typer.Argument(metavar="TEXT", help="As short as “red bus”.")],
    data: Data,
    images: Images = None,
    split: str = "val",
    out: Sheet = Path("regions.png"),
    count: Count = 24,
    json_file: Numbers = None,
    device: Device = "cpu",
    parser: Parser = None,
) -> None:
    """Show the regions of a split's photos that answer a text best.

    Example: tessera regions models/pretrained/matcher.safetensors "red bus" --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, parser):
        loaded = matcher(file, device)
        examples, watch = folders.read(data, images).split(split), progress.on(console)
        bag: FragmentBag = loaded.model.embed_sentences([snippet])[0]
        seen = photos(loaded.model, examples, watch)
        found = regions.answering(seen, bag, loaded.model.score, count)
        draw(out, found, examples, "score")
        numbers = {"checkpoint": loaded.fingerprint, "text": snippet}
        store(json_file, numbers | {"regions": listed(found, examples)})


def matcher(file: Path, device: str) -> Checkpoint:
    """A matcher's checkpoint; ValueError for another kind of model."""
    loaded = checkpoint.load(file, device)
    if loaded.kind != "matchers":
        raise ValueError(f"{file} is one of the {loaded.kind}; give a matcher's checkpoint")
    return loaded


def draw(out: Path, found: Sequence[Region], examples: Sequence[Example], value: str) -> None:
    """Draw regions as a sheet, and list them."""
    crops = [contact_sheet.crop(pixels(examples[one.photo].image), one.box) for one in found]
    contact_sheet.write(out, crops)
    Console().print(tables.ranked(found, [examples[one.photo].id for one in found], value))
    typer.echo(out)


def listed(found: Sequence[Region], examples: Sequence[Example]) -> list[dict[str, Any]]:
    """Regions with their photos' ids."""
    return [asdict(one) | {"photo": examples[one.photo].id} for one in found]


def store(file: Path | None, numbers: Mapping[str, Any]) -> None:
    """Write numbers as JSON, where asked to."""
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
