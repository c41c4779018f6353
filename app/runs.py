"""Runs: what a collection answers to each query of a list, for `tessera judge`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from app.engine import Engine
from app.options import Data, Named, plain_errors, settings_for
from app.settings import DEFAULT_COLLECTION
from index import judgements
from index.judgements import Judgement
from index.requests import Request

app = typer.Typer()


@app.command()
def rank(
    judged: Annotated[
        Path, typer.Argument(metavar="JUDGEMENTS", help="What has the queries: .csv, .jsonl, TREC.")
    ],
    run: Annotated[Path, typer.Argument(help="The .csv of query, id, score to write.")],
    topics: Annotated[
        Path | None, typer.Option(help="TREC's topics: lines of a query's id, a tab, its text.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Photos a query.")] = 100,
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
) -> None:
    """Search for every query of a list of judgements, and write what is found.

    Example: tessera rank judgements.csv before.csv && tessera judge judgements.csv before.csv
    """
    with plain_errors():
        queries = judgements.queries(judgements.read(judged))
        texts = judgements.topics(topics) if topics else {}
        engine = Engine.load(settings_for(data=data))
        hits = ranked(engine, collection, queries, texts, limit)
        judgements.write_run(run, hits)
    typer.echo(run)


def ranked(
    engine: Engine,
    collection: str,
    queries: Sequence[str],
    texts: Mapping[str, str],
    limit: int,
) -> Iterator[Judgement]:
    """The hits of each query, whose text is that of `texts` if it has one there."""
    for query in track(queries, "searching"):
        asked = engine.models.query(texts.get(query, query))
        answer = engine.search(collection, Request("images", asked, limit=limit))
        yield from (Judgement(query, hit.item, hit.score) for hit in answer.hits)
