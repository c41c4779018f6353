"""The commands `describe`, `align` and `ground`: explanations of one photo file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.cli.options import plain_errors, settings_for

if TYPE_CHECKING:
    from app.settings import Settings
    from models.images import Photo
    from models.types import Box

MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}

Drawing = Annotated[
    Path | None, typer.Option(dir_okay=False, help="Draw it into this .png or .svg file.")
]
PhotoFile = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A photo.")]


def describe(
    image: PhotoFile,
    beam: Annotated[int, typer.Option(min=1, max=20, help="Hypotheses followed.")] = 5,
    count: Annotated[int, typer.Option(min=1, max=20, help="How many sentences.")] = 1,
) -> None:
    """Say what a photo shows.

    Example: `tessera describe dog.jpg --count 3`
    """
    settings = settings_for()
    with plain_errors():
        from app.cli.loading import load_models
        from models.registry import Generation

        photo = _photo(image, settings)
        generation = Generation(beam=max(beam, count), count=count)
        captions = load_models(settings).describe(photo, generation)
    for caption in captions:
        typer.echo(caption.text)


def align(
    image: PhotoFile,
    text: Annotated[str, typer.Argument(help="A sentence about it.")],
    out: Drawing = None,
    beta: Annotated[
        float | None, typer.Option(min=0, help="More makes longer phrases. [default: 0.05]")
    ] = None,
) -> None:
    """Show which part of a photo answers which words.

    Example: `tessera align dog.jpg "a black dog" --out why.svg`
    """
    media_type = _media_type(out)
    settings = settings_for()
    with plain_errors():
        from app.cli.loading import load_models
        from models.alignment import BETA
        from models.types import Box

        photo = _photo(image, settings)
        models = load_models(settings)
        alignment = models.align(
            models.photo(photo), models.query(text), beta=BETA if beta is None else beta
        )
        if out:
            from app.drawing.explanations import draw_alignment

            out.write_bytes(draw_alignment(photo.pixels, text, alignment, media_type))
    table = Table("words", "gave", "left, top, right, bottom")
    for phrase in alignment.phrases:
        box = None if phrase.region is None else alignment.image.places[phrase.region]
        where = _edges(box) if isinstance(box, Box) else "the whole photo"
        table.add_row(escape(phrase.span.of(text)), f"{phrase.similarity:+.2f}", where)
    Console().print(table, f"score {alignment.score:.2f}")


def ground(
    image: PhotoFile,
    text: Annotated[str, typer.Argument(help="A sentence about it.")],
    phrase: Annotated[
        list[str] | None,
        typer.Option(help="Words of the text; may be given more than once. [default: all of it]"),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=20, help="Boxes a phrase.")] = 1,
    out: Drawing = None,
) -> None:
    """Find the boxes of a photo that phrases mean.

    Example: `tessera ground dog.jpg "a dog on a log" --phrase "a dog" --phrase "a log"`
    """
    media_type = _media_type(out)
    settings = settings_for()
    with plain_errors():
        from app.cli.loading import load_models

        photo = _photo(image, settings)
        grounded = load_models(settings).ground(photo, text, phrase or [text], count=count)
        if out:
            from app.drawing.explanations import draw_grounding

            out.write_bytes(draw_grounding(photo.pixels, text, grounded, media_type))
    table = Table("phrase", "similarity", "left, top, right, bottom")
    for answer in grounded:
        words = escape(answer.span.of(text))
        if not answer.present:
            table.add_row(words, "", "not in this photo")
        for box, similarity in answer.boxes:
            table.add_row(words, f"{similarity:+.2f}", _edges(box))
    Console().print(table)


def _photo(file: Path, settings: Settings) -> Photo:
    """A photo as it would be stored."""
    from models import images

    return images.read(file.read_bytes(), **settings.photo_limits)


def _media_type(out: Path | None) -> str:
    """The media type of a picture's file name; a usage error where it cannot be drawn."""
    if out is None:
        return ""
    if out.suffix.lower() not in MEDIA_TYPES:
        raise typer.BadParameter("the picture's name ends in .png or .svg", param_hint="--out")
    if not out.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.parent}", param_hint="--out")
    return MEDIA_TYPES[out.suffix.lower()]


def _edges(box: Box) -> str:
    """A box's edges as fractions of the photo."""
    return "  ".join(f"{edge:.2f}" for edge in (box.left, box.top, box.right, box.bottom))
