"""The command `models`: models, and checkpoints in use or shipped."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from app.cli.options import plain_errors, settings_for
from index import printing


def models(
    recommended: Annotated[
        bool, typer.Option("--recommended", help="Pretrained encoders for `tessera serve --model`.")
    ] = False,
) -> None:
    """List models, and checkpoints in use or shipped.

    Example: `tessera models --recommended`
    """
    if recommended:
        _list_recommended()
        return
    settings = settings_for()
    from models import header, registry, shipped

    table = printing.make_table("kind", "model", "checkpoint", "fingerprint")
    for kind in registry.KINDS:
        for name in registry.names(kind):
            table.add_row(kind, name, "", "")
    chosen = [
        path
        for path in (
            settings.matcher,
            settings.captioner,
            settings.region_captioner,
            settings.grounder,
        )
        if path and path.is_file()
    ]
    for path in sorted({*shipped.PRETRAINED.glob("*.safetensors"), *chosen}):
        with plain_errors():
            described = header.read(path)
            fingerprint = header.fingerprint(path)
        table.add_row(described["kind"], described["name"], escape(str(path)), fingerprint)
    printing.print_out(table)


def _list_recommended() -> None:
    """Print the recommended encoders, with licence, size and speed."""
    from app.recommended import RECOMMENDED

    table = printing.make_table(
        "encoder",
        "licence, as stated there",
        "commercial use",
        "MB",
        "ms a photo",
        "ms a query",
        "Flickr30K R@1",
    )
    for encoder in RECOMMENDED:
        numbers = (encoder.megabytes, encoder.photo_ms, encoder.query_ms, encoder.recall_1)
        cells = ("" if number is None else f"{number:,}" for number in numbers)
        use = "yes" if encoder.commercial else "no"
        table.add_row(encoder.id, encoder.licence, use, *cells)
    printing.print_out(table)
    typer.echo(
        "MB are of the weights in memory and about what is fetched; ms are of one thread "
        "(docs/use/models.md); R@1 is text to image as published. Read the licence that comes with "
        "the weights: this list is no advice. `tessera serve --model ENCODER` takes one."
    )
