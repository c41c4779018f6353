"""Commands to measure a checkpoint or to look inside.

They are evaluate, magnitudes, compositions, regions.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from training.cli.options import (
    FEATURES,
    Cache,
    Data,
    Device,
    File,
    Images,
    Numbers,
    Parser,
    TrueBoxes,
    find_boxes,
    plain_errors,
    read_described,
    refuse_state,
)

Sheet = Annotated[Path, typer.Option("--out", help="The .png of regions to write.")]
Count = Annotated[int, typer.Option(min=1, help="Regions on the sheet, one a photo.")]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Photos, drawn at random.", show_default="the whole split")
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
    int, typer.Option(min=0, help="Photos to embed again with a linked region greyed out.")
]

FrozenFeatures = Annotated[
    bool,
    typer.Option(
        "--frozen",
        help="Cache photos' features in --cache; for ranks or captions, without boxes.",
    ),
]
Unwritten = Annotated[
    bool,
    typer.Option(
        "--no-sentences",
        help="List the things in captions of a .jsonl or .csv of photos without sentences.",
    ),
]
Judge = Annotated[
    Path | None,
    typer.Option(
        "--matcher",
        help="Measure captions as a service does: this matcher ranks them and finds boxes.",
        callback=refuse_state,
    ),
]


Beam = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=20,
        help="Hypotheses that a captioner follows; the service's number if not given.",
    ),
]

Spice = Annotated[
    bool,
    typer.Option(
        "--spice", help="Measure SPICE of captions, too: it takes Java, CoreNLP 3.6.0 and minutes."
    ),
]


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
    frozen: FrozenFeatures = False,
    judge: Judge = None,
    beam: Beam = None,
    unwritten: Unwritten = False,
    spice: Spice = False,
    device: Device = "cpu",
    parser: Parser = None,
) -> None:
    """Measure a checkpoint on a split.

    Retrieval and links, captions, phrases' boxes or proposals.

    With --field or --queries, measure a matcher's search over photos that need no sentences.

    Example: tessera evaluate models/pretrained/matcher.safetensors --data items.jsonl --field kind
    """
    console = Console(stderr=True)
    with plain_errors(console, parser, device):
        from models import checkpoint, registry
        from training import analysis
        from training.data import catalogue, entities, learned
        from training.evaluation import queries as natural
        from training.evaluation.captions import spice as spices
        from training.runs import progress

        loaded = checkpoint.load(file, device)
        analysis.refuse_unused(loaded.kind, frozen=frozen, occlude=occlude, beam=beam, spice=spice)
        searches = bool(field or queries)
        corpus = (
            catalogue.read(data, images)
            if searches or unwritten
            else read_described(console, data, images)
        )
        of_split = corpus.split(split)
        new = learned.leave_out(of_split, loaded.facts) if split != "train" else of_split
        if len(new) < len(of_split):
            console.print(learned.describe(len(of_split), len(new)), soft_wrap=True)
        examples, part = analysis.sample(new, split, limit)
        truth = entities.read(boxes_file) if (boxes_file := find_boxes(data, boxes)) else {}
        exam = analysis.Exam(
            examples, truth, cache, progress.on(console), device,
            fields=field or (), queries=natural.read(queries), occluded=occlude,
            frozen=frozen, train=corpus.splits.get("train", ()),
            judge=analysis.load_judge(loaded, judge, device), beam=beam or registry.BEAM,
            spice=spices.find_program() if spice else None,
        )  # fmt: skip
        examine = analysis.choose_exam(loaded, searches=searches, unwritten=unwritten)
        table, numbers = examine(loaded, exam)
        title = escape(f"{loaded.name} {loaded.fingerprint}, {corpus.name} {part}")
        Console().print(title, table, sep="\n")
        about = analysis.name_checkpoint(loaded) | {
            "data": corpus.name,
            "digest": corpus.digest(),
            "split": part,
            "frozen": frozen,
        }
        analysis.store(json_file, about | numbers)


def show_magnitudes(
    file: File,
    data: Data,
    images: Images = None,
    split: str = "val",
    out: Sheet = Path("magnitudes.png"),
    count: Count = 24,
    least_count: Annotated[
        int, typer.Option(min=1, help="Leave out words that come less often.")
    ] = 5,
    json_file: Numbers = None,
    device: Device = "cpu",
    parser: Parser = None,
) -> None:
    """Show the words and regions of most weight.

    Mean |s| a word, and the regions of the largest |v|.

    Example: tessera magnitudes models/pretrained/matcher.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, parser, device):
        from training import analysis
        from training.evaluation import outstanding_parts as regions
        from training.evaluation import tables
        from training.evaluation.embedding import embed, embed_photos
        from training.evaluation.outstanding_parts import magnitudes
        from training.runs import progress

        loaded = analysis.load_matcher(file, device)
        corpus, watch = read_described(console, data, images), progress.on(console)
        examples = corpus.split(split)
        texts = [text for example in examples for text in example.sentences]
        bags = embed(loaded.model.embed_sentences, texts, watch, "sentences")
        words = magnitudes(bags, least_count)
        Console().print(tables.format_extremes(words))
        longest = regions.find_longest(embed_photos(loaded.model, examples, watch), count)
        analysis.draw_regions(out, longest, examples, "|v|")
        about = analysis.name_checkpoint(loaded) | {"data": corpus.name, "split": split}
        numbers = {
            "words": len(words),
            "largest": [asdict(word) for word in words[:count]],
            "smallest": [asdict(word) for word in words[-count:]],
            "regions": analysis.list_regions(longest, examples),
        }
        analysis.store(json_file, about | numbers)


def show_compositions(file: File, json_file: Numbers = None) -> None:
    """List an SDT-RNN's relations by their matrices' norms.

    Of a DT-RNN, the positions.

    Example: tessera compositions runs/sdtrnn-0/matcher.safetensors
    """
    console = Console(stderr=True)
    with plain_errors(console):
        from training import analysis
        from training.evaluation.outstanding_parts import compositions

        loaded = analysis.load_matcher(file, "cpu")
        norms = compositions(loaded.model.text)
        for composition in norms:
            typer.echo(f"{composition.norm:8.3f}  {composition.kind}")
        numbers = {"checkpoint": loaded.fingerprint, "preset": loaded.name}
        kinds = {
            "compositions": [asdict(composition) for composition in norms],
            "seed": loaded.facts.get("seed"),
        }
        analysis.store(json_file, numbers | kinds)


def show_regions(
    file: File,
    snippet: Annotated[
        str, typer.Argument(metavar="TEXT", help="Text of the phrase, such as “red bus”.")
    ],
    data: Data,
    images: Images = None,
    split: str = "val",
    out: Sheet = Path("regions.png"),
    count: Count = 24,
    json_file: Numbers = None,
    device: Device = "cpu",
    parser: Parser = None,
) -> None:
    """Show the best regions of a split's photos for a text.

    Example: tessera regions models/pretrained/matcher.safetensors "red bus" --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, parser, device):
        from training import analysis
        from training.evaluation import outstanding_parts as regions
        from training.evaluation.embedding import embed_photos
        from training.runs import progress

        loaded = analysis.load_matcher(file, device)
        examples = read_described(console, data, images).split(split)
        watch = progress.on(console)
        bag = loaded.model.embed_sentences([snippet])[0]
        photo_bags = embed_photos(loaded.model, examples, watch)
        best = regions.rank_regions(photo_bags, bag, loaded.model.score, count)
        analysis.draw_regions(out, best, examples, "score")
        numbers = {"checkpoint": loaded.fingerprint, "text": snippet}
        analysis.store(json_file, numbers | {"regions": analysis.list_regions(best, examples)})
