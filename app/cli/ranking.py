"""The command `rank`: what a collection answers to each query of a list, for `judge`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from app.cli.options import Data, Named, plain_errors, settings_for
from app.defaults import DEFAULT_COLLECTION
from index.progress import followed

if TYPE_CHECKING:
    from app.engine.engine import Engine
    from index.trec import Judgement


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
    settings = settings_for(data=data)
    with plain_errors():
        from app.cli.loading import load_engine
        from index import trec as judgements

        queries = judgements.queries(judgements.read(judged))
        texts = judgements.topics(topics) if topics else {}
        engine = load_engine(settings)
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
    from index.trec import Judgement
    from index.search.requests import Request

    for query in followed(queries, len(queries), "searching", Console(stderr=True)):
        embedded_query = engine.models.query(texts.get(query, query))
        answer = engine.search(collection, Request("images", embedded_query, limit=limit))
        yield from (Judgement(query, hit.item, hit.score) for hit in answer.hits)
