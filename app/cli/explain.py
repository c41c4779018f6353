"""The commands `describe`, `align` and `ground`: explanations of one photo file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from app.cli.options import plain_errors, settings_for
from index import printing

if TYPE_CHECKING:
    from app.settings import Settings
    from models.captions.region_captions import RegionCaption
    from models.captions.support import SupportedCaption
    from models.types import Box
    from models.vision.images import Photo

MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}

Drawing = Annotated[
    Path | None, typer.Option(dir_okay=False, help="Draw it into this .png or .svg file.")
]
PhotoFile = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A photo.")]


def describe(
    image: PhotoFile,
    beam: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=20,
            help="Hypotheses of the beam search; more take longer.",
            show_default="7",
        ),
    ] = None,
    count: Annotated[
        int,
        typer.Option(min=1, max=20, help="How many sentences; a beam search gives at most --beam."),
    ] = 1,
    temperature: Annotated[
        float | None, typer.Option(min=0.01, max=10, help="Draw sentences at random.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Seed of drawing: the same seed draws the same; needs a temperature."
        ),
    ] = None,
    max_words: Annotated[
        int | None, typer.Option(min=1, max=50, help="The captioner's own limit if not given.")
    ] = None,
    regions: Annotated[
        int, typer.Option(min=0, max=50, help="How many regions to describe at most.")
    ] = 0,
    out: Drawing = None,
) -> None:
    """Describe a photo in sentences, and show the region behind each word.

    Example: `tessera describe dog.jpg --count 3 --regions 5 --out caption.svg`
    """
    media_type = _media_type(out)
    settings = settings_for()
    with plain_errors():
        from app.cli.options import load_models
        from app.engine.descriptions import describe
        from app.schemas.explain import CaptionRequest
        from models.registry import BEAM

        request = CaptionRequest(
            beam=beam or BEAM, count=count, temperature=temperature, seed=seed, max_words=max_words,
            regions=regions,
        )  # fmt: skip
        generation = request.generation
        photo = _photo(image, settings)
        models = load_models(settings)
        described = describe(models, photo, generation, regions=request.regions)
        if out:
            from app.drawing.explanations import draw_caption

            out.write_bytes(draw_caption(photo.pixels, described.best, media_type))
    if not described.captions:
        typer.echo("No sentence is well formed; try a larger --beam.")
    for caption in described.captions:
        _print_caption(caption, models.unsure_below)
    if regions:
        _print_regions(described.regions)


def _print_caption(caption: SupportedCaption, unsure_below: float | None) -> None:
    """Print a caption, its doubts, and the evidence for its words."""
    probability = "" if caption.probability is None else f" ({_percent(caption.probability)})"
    typer.echo(
        ("Not sure; best guess: " if caption.unsure(unsure_below) else "")
        + caption.text
        + probability
    )
    table = printing.make_table("word", "gave", "confidence", "left, top, right, bottom")
    for word in caption.words:
        if word.contribution is None:
            continue
        where = "the whole photo" if word.box is None else edges(word.box)
        table.add_row(
            escape(word.text),
            f"{word.contribution:+.2f}",
            "" if word.confidence is None else _percent(word.confidence),
            "not supported" if word.supported is False else where,
        )
    printing.print_out(table)


def _print_regions(regions: Sequence[RegionCaption]) -> None:
    """The captions of a photo's regions."""
    table = printing.make_table("region", "confidence", "left, top, right, bottom")
    for region in regions:
        probability = "" if region.probability is None else _percent(region.probability)
        table.add_row(escape(region.caption.text), probability, edges(region.box))
    printing.print_out(table)


def _percent(probability: float) -> str:
    """A probability as a person reads it."""
    return f"{100 * probability:.0f} %"


def align(
    image: PhotoFile,
    text: Annotated[str, typer.Argument(help="A sentence about the photo.")],
    out: Drawing = None,
    beta: Annotated[
        float | None,
        typer.Option(min=0, help="Larger values make longer phrases.", show_default="0.05"),
    ] = None,
) -> None:
    """Show the regions of a photo with the words they match.

    Example: `tessera align dog.jpg "a black dog" --out why.svg`
    """
    media_type = _media_type(out)
    settings = settings_for()
    with plain_errors():
        from app.cli.options import load_models
        from app.schemas.emoji import name_emoji
        from models.scores.alignment import BETA
        from models.types import Box

        photo, text = _photo(image, settings), name_emoji(text, flags=True)
        models = load_models(settings)
        alignment = models.align(
            models.photo(photo),
            models.query(text, of_photos=True),
            beta=BETA if beta is None else beta,
        )
        if out:
            from app.drawing.explanations import draw_alignment

            out.write_bytes(draw_alignment(photo.pixels, text, alignment, media_type))
    table = printing.make_table("words", "gave", "left, top, right, bottom")
    for phrase in alignment.phrases:
        box = None if phrase.region is None else alignment.image.places[phrase.region]
        where = edges(box) if isinstance(box, Box) else "the whole photo"
        table.add_row(escape(phrase.words(text)), f"{phrase.similarity:+.2f}", where)
    printing.print_out(table, f"score {alignment.score:.2f}")


def ground(
    image: PhotoFile,
    text: Annotated[str, typer.Argument(help="A sentence about the photo.")],
    phrase: Annotated[
        list[str] | None,
        typer.Option(
            help="Words of the text; may be given more than once.", show_default="its noun phrases"
        ),
    ] = None,
    count: Annotated[
        int, typer.Option(min=1, max=20, help="Boxes a phrase, all of them drawn.")
    ] = 1,
    out: Drawing = None,
) -> None:
    """Find the boxes of phrases in a photo.

    Example: `tessera ground dog.jpg "a dog on a log" --phrase "a dog" --phrase "a log"`
    """
    media_type = _media_type(out)
    settings = settings_for()
    with plain_errors():
        from app.cli.options import load_models
        from app.engine.groundings import ground
        from app.schemas.emoji import name_emoji

        photo, text = _photo(image, settings), name_emoji(text, flags=True)
        models = load_models(settings)
        phrases = [name_emoji(part, flags=True) for part in phrase or ()] or None
        grounded = ground(models, photo, text, phrases, count=count)
        if out:
            from app.drawing.explanations import draw_grounding

            out.write_bytes(draw_grounding(photo.pixels, text, grounded, media_type))
    table = printing.make_table("phrase", "similarity", "left, top, right, bottom")
    for answer in grounded:
        words = escape(answer.span.of(text))
        if not answer.present:
            table.add_row(words, "", "not in this photo")
        for box, similarity in answer.boxes:
            table.add_row(words, f"{similarity:+.2f}", edges(box))
    printing.print_out(table, *models.notes(text), sep="\n")


def _photo(file: Path, settings: Settings) -> Photo:
    """A photo as it would be stored."""
    from models.vision import images

    return images.read(file.read_bytes(), **settings.photo_limits)


def _media_type(out: Path | None) -> str:
    """Return the media type of a picture's file name.

    A usage error if it is not known.
    """
    if out is None:
        return ""
    if out.suffix.lower() not in MEDIA_TYPES:
        raise typer.BadParameter("the picture's name ends in .png or .svg", param_hint="--out")
    if not out.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.parent}", param_hint="--out")
    return MEDIA_TYPES[out.suffix.lower()]


def edges(box: Box) -> str:
    """A box's edges as fractions of the photo."""
    return "  ".join(f"{edge:.2f}" for edge in (box.left, box.top, box.right, box.bottom))
