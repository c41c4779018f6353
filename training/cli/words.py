"""Commands of the shipped lists of words: class-names, lexicon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from training.cli.options import plain_errors


def class_names(
    wordnet: Annotated[Path, typer.Argument(help="A folder with WordNet's data.noun.")],
    out: Annotated[Path, typer.Argument(help="The .txt to write.")],
) -> None:
    """Write the names of ImageNet's classes and their broader terms in WordNet.

    Example: tessera class-names /usr/share/wordnet models/pretrained/words/classes.txt
    """
    with plain_errors(Console(stderr=True)):
        from training.language import class_names

        count = class_names.write(wordnet, out)
        typer.echo(f"{count:,} classes in {out}")


def lexicon(
    wordnet: Annotated[Path, typer.Argument(help="A folder of WordNet's index and .exc files.")],
    out: Annotated[Path, typer.Argument(help="The .txt.gz to write.")],
) -> None:
    """Write the list of known English words: WordNet's, MiniLM's, and newer ones.

    Example: tessera lexicon /usr/share/wordnet models/pretrained/words/lexicon.txt.gz
    """
    with plain_errors(Console(stderr=True)):
        from training.language import lexicon

        count = lexicon.write(wordnet, out)
        typer.echo(f"{count:,} words in {out}")
