"""Commands that measure a checkpoint or look inside: evaluate, calibrate, magnitudes, regions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from models import checkpoint
from models.checkpoint import Checkpoint
from models.types import FragmentBag
from training import calibration, captioning, contact_sheet, grounding, progress, proposals
from training.data import catalogue, entities, folders
from training.data.corpus import Example
from training.evaluation import queries as natural
from training.evaluation import regions, reliability, tables
from training.evaluation.embedding import embedded, photos, pixels
from training.evaluation.magnitudes import LEAST_COUNT, magnitudes
from training.evaluation.measure import Boxes, measure
from training.evaluation.open_world import open_world
from training.evaluation.queries import Query
from training.evaluation.regions import Region
from training.markdown import slashed
from training.options import FEATURES, Cache, Data, Device, Images, Parser, TrueBoxes, plain_errors
from training.progress import Progress

app = typer.Typer()

File = Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A .safetensors file.")]
Numbers = Annotated[Path | None, typer.Option("--json", help="Write the numbers.")]
Sheet = Annotated[Path, typer.Option("--out", help="The .png of regions to write.")]
Count = Annotated[int, typer.Option(min=1, help="Regions on the sheet, one a photo.")]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Photos, drawn at random. [default: the whole split]")
]
Fields = Annotated[
    list[str] | None,
    typer.Option(help="Search for each value of this field; may be given more than once."),
]
Queries = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="Search for each {text, id} of a .json file."),
]
Occluded = Annotated[
    int, typer.Option(min=0, help="Photos to embed anew with a linked region greyed out.")
]


@dataclass(frozen=True, slots=True)
class Exam:
    """The examples that a checkpoint is measured on, what is asked, and where it is computed.

    fields and queries: searches over the photos. occluded: photos that lose a region.
    """

    examples: Sequence[Example]
    truth: Boxes
    cache: Path
    progress: Progress
    device: str
    fields: Sequence[str] = ()
    queries: Sequence[Query] = ()
    occluded: int = 0


@app.command()
def evaluate(
    file: File,
    data: Data,
    images: Images = None,
    split: str = "val",
    limit: Limit = None,
    field: Fields = None,
    queries: Queries = None,
    occlude: Occluded = 0,
    boxes: TrueBoxes = None,
    json_file: Numbers = None,
    cache: Cache = FEATURES,
    device: Device = "cpu",
    parser: Parser = None,
) -> None:
    """Measure a checkpoint on a split: retrieval and links, captions, phrases' boxes or proposals.

    With --field or --queries, measure a matcher's search over photos that need no sentences.

    Examples: tessera evaluate runs/dvsa-0/matcher.safetensors --data flickr8k/ --split val

    tessera evaluate models/pretrained/matcher.safetensors --data groceries.jsonl --field kind
    """
    console = Console(stderr=True)
    with plain_errors(console, parser):
        loaded = checkpoint.load(file, device)
        searches = bool(field or queries)
        corpus = catalogue.read(data, images) if searches else folders.read(data, images)
        examples, part = sample(corpus.split(split), split, limit)
        exam = Exam(
            examples, true_boxes(boxes, data), cache, progress.on(console), device,
            fields=field or (), queries=natural.read(queries), occluded=occlude,
        )  # fmt: skip
        shown, numbers = (of_search if searches else EXAMS[loaded.kind])(loaded, exam)
        Console().print(
            f"{loaded.name} {loaded.fingerprint}, {corpus.name} {part}", shown, sep="\n"
        )
        store(json_file, about(loaded) | {"data": corpus.name, "split": part} | numbers)


def true_boxes(file: Path | None, data: Path) -> Boxes:
    """The true boxes of a file, or of one beside the data; none if there is no file."""
    file = file or entities.find(data if data.is_dir() else data.parent)
    return entities.read(file) if file else {}


def sample(
    examples: Sequence[Example], split: str, limit: int | None
) -> tuple[Sequence[Example], str]:
    """At most `limit` examples, the same ones every time, in their order; and a name for them.

    The name tells a part of a split from the whole split.
    """
    if limit is None or limit >= len(examples):
        return examples, split
    drawn = Random(0).sample(range(len(examples)), limit)  # noqa: S311 - no secret
    chosen = [examples[position] for position in sorted(drawn)]
    return chosen, f"{split}, {limit:,} of {len(examples):,} photos"


def about(loaded: Checkpoint) -> dict[str, Any]:
    """The facts by which a measurement names its checkpoint."""
    facts = loaded.facts
    return {
        "checkpoint": loaded.fingerprint,
        "name": loaded.name,
        "preset": facts.get("preset", {}).get("name", loaded.name),
        "trained_on": facts.get("data", {}).get("name"),
        "seed": facts.get("seed"),
    }


Outcome = tuple[RenderableType, dict[str, Any]]


def of_matcher(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Retrieval both ways, and the faithfulness of links."""
    measured = measure(
        loaded.model, exam.examples, exam.truth, exam.progress, exam.device, exam.occluded
    )
    return tables.metrics(measured), asdict(measured)


def of_search(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Search by the values of fields and by natural queries."""
    if loaded.kind != "matchers":
        raise ValueError(f"--field and --queries need a matcher; this is one of the {loaded.kind}")
    measured = open_world(
        loaded.model, exam.examples, exam.fields, exam.queries, exam.progress, exam.device
    )
    return tables.searches(measured), asdict(measured)


def of_captioner(loaded: Checkpoint, exam: Exam) -> Outcome:
    """BLEU."""
    measured = captioning.evaluate(loaded.model, exam.examples, progress=exam.progress)
    return f"BLEU-1 to 4: {slashed(measured.scores)}", {"bleu": measured.scores}


def of_proposer(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Recall of phrases' boxes."""
    recalls = proposals.evaluate(
        loaded.model, exam.examples, exam.truth, exam.cache, exam.progress, exam.device
    )
    counts = " / ".join(map(str, recalls))
    return f"boxes found in the first {counts}: {slashed(recalls.values())}", {"recalls": recalls}


def of_grounder(loaded: Checkpoint, exam: Exam) -> Outcome:
    """Localisation of phrases."""
    phrases = grounding.learned_from(
        loaded.model, exam.examples, exam.truth, exam.cache, exam.progress
    )
    measured = grounding.measured(loaded.model, phrases, exam.device)
    supervised = loaded.facts.get("recipe", {}).get("boxes")
    preset = f"{loaded.name}, {'supervised' if supervised else 'weakly supervised'}"
    return tables.boxes(measured), {"preset": preset, "grounding": asdict(measured)}


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
        bags = embedded(loaded.model.embed_sentences, texts, watch, "sentences")
        words = magnitudes(bags, least_count)
        Console().print(tables.extremes(words))
        longest = regions.longest(photos(loaded.model, examples, watch), count)
        draw(out, longest, examples, "|v|")
        numbers = {"checkpoint": loaded.fingerprint, "words": [asdict(word) for word in words]}
        store(json_file, numbers | {"regions": listed(longest, examples)})


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
        photo_bags = photos(loaded.model, examples, watch)
        best = regions.answering(photo_bags, bag, loaded.model.score, count)
        draw(out, best, examples, "score")
        numbers = {"checkpoint": loaded.fingerprint, "text": snippet}
        store(json_file, numbers | {"regions": listed(best, examples)})


def matcher(file: Path, device: str) -> Checkpoint:
    """A matcher's checkpoint; ValueError for another kind of model."""
    loaded = checkpoint.load(file, device)
    if loaded.kind != "matchers":
        raise ValueError(f"{file} is one of the {loaded.kind}; give a matcher's checkpoint")
    return loaded


def draw(out: Path, chosen: Sequence[Region], examples: Sequence[Example], value: str) -> None:
    """Draw regions as a sheet, and list them."""
    crops = [
        contact_sheet.crop(pixels(examples[region.photo].image), region.box) for region in chosen
    ]
    contact_sheet.write(out, crops)
    Console().print(tables.ranked(chosen, [examples[r.photo].id for r in chosen], value))
    typer.echo(out)


def listed(chosen: Sequence[Region], examples: Sequence[Example]) -> list[dict[str, Any]]:
    """Regions with their photos' ids."""
    return [asdict(region) | {"photo": examples[region.photo].id} for region in chosen]


def store(file: Path | None, numbers: Mapping[str, Any]) -> None:
    """Write numbers as JSON, where asked to."""
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
