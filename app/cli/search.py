"""The commands `search` and `rank`: photos, their parts or sentences for texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.cli.options import Data, Named, check_data_folder, plain_errors, settings_for
from app.defaults import DEFAULT_COLLECTION
from app.unprintable import escape_unprintable
from index import printing
from index.progress import follow

if TYPE_CHECKING:
    from app.engine.engine import Engine
    from app.schemas.facets import FacetOut
    from app.schemas.hits import ImageHit, ImageHits
    from index.items import Item
    from index.search.requests import Hit
    from index.segments.rows import Side
    from index.trec import Judgement
    from models.text.queries import Query


def search(
    text: Annotated[
        str, typer.Argument(help="What the photo shows or is named, or the sentence says.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many hits.")] = 10,
    sentences: Annotated[
        bool, typer.Option("--sentences", help="Find stored sentences instead of photos.")
    ] = False,
    parts: Annotated[
        bool, typer.Option("--parts", help="Find parts of photos, at most one of each.")
    ] = False,
    sort: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Order photos by a key of metadata, such as taken."),
    ] = None,
    descending: Annotated[
        bool, typer.Option("--descending", help="The largest or newest first.")
    ] = False,
    facets: Annotated[
        list[str] | None,
        typer.Option("--count", metavar="KEY", help="Count probable photos by a key, or several."),
    ] = None,
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
) -> None:
    """Find photos, parts of photos or sentences, and explain each hit.

    With --sort and --count, these are all photos above the line of weak ones; without a text all.

    Example: `tessera search "a black dog jumping over a log"`
    """
    if sentences and parts:
        raise typer.BadParameter("sentences have no parts: give --sentences or --parts")
    if (sentences or parts) and (sort or facets):
        raise typer.BadParameter("--sort and --count are of photos: leave out --sentences, --parts")
    if not (text or sort or facets):
        raise typer.BadParameter("give a text, or --sort or --count for all photos")
    settings = settings_for(data=data)
    with plain_errors():
        check_data_folder(settings.storage)
        from app.cli.options import load_engine
        from app.schemas.emoji import name_emoji

        engine, text = load_engine(settings), name_emoji(text, flags=True)
        if not (sentences or parts):
            from app.answers.photos import search_images
            from app.schemas.search import ImageSearch

            order = {"key": sort, "order": "desc" if descending else "asc"} if sort else None
            fields = {"text": text or None, "collection": collection, "limit": limit}
            asked = ImageSearch.model_validate(fields | {"sort": order, "facets": facets or []})
            _print_photos(engine, search_images(engine, asked, None))
            return
        from index.search.requests import Request

        query = engine.models.query(text, whole=sentences, spelling=True)
        side: Side = "sentences" if sentences else "images"
        request = Request(side, query, limit=limit, per_photo=1 if parts else None)
        answer, items = engine.search(collection, request)
    for note in query.notes:
        typer.echo(note, err=True)
    if hits := [hit for hit in answer.hits if hit.item in items]:
        doubts = _describe_doubts(hits, engine.models.weak_below)
        printing.print_out(_make_table(query.text or text, query, hits, items), *doubts)
    elif query.parts:
        printing.print_out(_explain_empty(engine, collection, side))


def _print_photos(engine: Engine, answer: ImageHits) -> None:
    """Print the photos of an answer, and its counts."""
    for note in dict.fromkeys((*answer.query.notes, *_note_uncounted(engine, answer))):
        typer.echo(note, err=True)
    for part in answer.query.filters:
        typer.echo(f'"{part.text}": photos of {part.words}', err=True)
    for facet in answer.facets:
        _print_counts(facet)
    if answer.total is not None:
        printing.print_out(f"{answer.total:,} photos")
    if answer.hits:
        from app.answers.notes import doubt

        doubts = doubt((hit.probability for hit in answer.hits), answer.weak_below, "looks like")
        printing.print_out(_make_photo_table(answer.hits), *filter(None, [doubts]))
    elif not answer.searched.rows and (answer.query.fragments or answer.query.text is None):
        printing.print_out(_explain_empty(engine, answer.collection, "images"))
    elif answer.query.fragments:
        printing.print_out("No photo answers that.")


def _explain_empty(engine: Engine, collection: str, side: Side) -> str:
    """Explain an answer of a collection without photos or sentences."""
    if side == "images" and (count := engine.read(collection, engine.catalog.count)):
        return f"None of the {count:,} items has a photo: --sentences searches their sentences"
    what = "Nothing" if side == "images" else "No sentence"
    return f"{what} is indexed yet: tessera index FOLDER"


def _print_counts(facet: FacetOut) -> None:
    counts = [(period.value, period.count) for period in facet.dates]
    counts = counts or [(str(value.value), value.count) for value in facet.values]
    if counts:
        line = f"{facet.key}: " + ", ".join(f"{at} {n:,}" for at, n in counts)
        printing.print_out(escape(line))


def _note_uncounted(engine: Engine, answer: ImageHits) -> Iterator[str]:
    """Yield notes about keys without a count."""
    from app.answers.notes import note_unknown_keys

    def example(key: str) -> object:
        return engine.read(answer.collection, engine.catalog.example, key)

    for facet in answer.facets:
        if not facet.values:
            keys = engine.read(answer.collection, engine.catalog.keys)
            none = [f"None of these photos has {facet.key!r:.100} in its metadata."]
            yield from note_unknown_keys([facet.key], keys, example) or none


def _make_photo_table(hits: Sequence[ImageHit]) -> Table:
    table = printing.make_table("probability", "score", "photo", "why")
    for hit in hits:
        gains = [(phrase.text, phrase.similarity) for phrase in hit.phrases]
        gains += [(f"{part.word} in {part.field}", part.gave) for part in hit.words]
        why = "  ".join(f"{name} {gave:+.2f}" for name, gave in sorted(gains, key=lambda g: -g[1]))
        probability = "" if hit.probability is None else f"{hit.probability:.2f}"
        cells = (probability, f"{hit.score:.2f}", escape_unprintable(hit.id), why)
        table.add_row(*map(escape, cells))
    return table


def _make_table(text: str, query: Query, hits: Sequence[Hit], items: Mapping[str, Item]) -> Table:
    from app.cli.explain import edges
    from index.bags import IMAGE
    from models.scores import alignment
    from models.types import Box

    in_sentences = hits[0].position > IMAGE
    columns = ["sentence", "item"] if in_sentences else ["photo"]
    if hits[0].region is not None:
        columns.append("left, top, right, bottom")
    table = printing.make_table("probability", "score", *columns, "why")
    for hit in hits:
        answering = hit.bag if hit.region is None else hit.bag.alone(hit.region)
        phrases = alignment.phrases(answering, query, hit.links)
        best_first = sorted(phrases, key=lambda phrase: -phrase.similarity)
        why = "  ".join(f"{phrase.words(text)} {phrase.similarity:+.2f}" for phrase in best_first)
        probability = "" if hit.probability is None else f"{hit.probability:.2f}"
        sentence = [items[hit.item].sentences[hit.position]] if in_sentences else []
        place = None if hit.region is None else hit.bag.places[hit.region]
        box = [edges(place)] if isinstance(place, Box) else []
        cells = (
            probability,
            f"{hit.score:.2f}",
            *sentence,
            escape_unprintable(hit.item),
            *box,
            why,
        )
        table.add_row(*map(escape, cells))
    return table


def _describe_doubts(hits: Sequence[Hit], weak_below: float | None) -> list[str]:
    """Return a sentence if no hit is likely."""
    from app.answers.notes import doubt
    from index.bags import IMAGE

    like = "looks like" if hits[0].position <= IMAGE else "says"
    return [*filter(None, [doubt((hit.probability for hit in hits), weak_below, like)])]


def rank(
    judged: Annotated[
        Path,
        typer.Argument(metavar="JUDGEMENTS", help="File with the queries: .csv, .jsonl, TREC."),
    ],
    run: Annotated[Path, typer.Argument(help="The .csv of query, id, score to write.")],
    topics: Annotated[
        Path | None, typer.Option(help="TREC's topics: lines of a query's id, a tab, its text.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Photos a query.")] = 100,
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
) -> None:
    """Search for each query of the judgements, and write the hits.

    Example: tessera rank judgements.csv before.csv && tessera judge judgements.csv before.csv
    """
    settings = settings_for(data=data)
    with plain_errors():
        check_data_folder(settings.storage)
        from app.cli.options import load_engine
        from index import trec as judgements

        queries = judgements.queries(judgements.read(judged))
        texts = judgements.topics(topics) if topics else {}
        if topics:
            _refuse_missing_texts(queries, texts, topics)
        elif judgements.is_trec(judged) and any(query.isdecimal() for query in queries):
            typer.echo(
                f"warning: {judged} names its queries by numbers, which are searched for as texts: "
                "give their texts by --topics FILE",
                err=True,
            )
        engine = load_engine(settings)
        hits = rank_queries(engine, collection, queries, texts, limit)
        judgements.write_run(run, hits)
    typer.echo(run)


def _refuse_missing_texts(queries: Sequence[str], texts: Mapping[str, str], topics: Path) -> None:
    """Raise LookupError for queries without a text in the topics."""
    if missing := [query for query in queries if not texts.get(query)]:
        count = f"{len(missing):,} of {len(queries):,} queries have none"
        raise LookupError(f"no text for query {missing[0]} in {topics}; {count}")


def rank_queries(
    engine: Engine,
    collection: str,
    queries: Sequence[str],
    texts: Mapping[str, str],
    limit: int,
) -> Iterator[Judgement]:
    """Yield the hits of each query.

    `texts` replaces the text of a query.
    """
    from app.schemas.emoji import name_emoji
    from index.search.requests import Request
    from index.trec import Judgement

    for query in follow(queries, len(queries), "searching", Console(stderr=True)):
        text = name_emoji(texts.get(query, query), flags=True)
        embedded_query = engine.models.query(text, spelling=True, of_photos=True)
        answer, _ = engine.search(collection, Request("images", embedded_query, limit=limit))
        yield from (Judgement(query, hit.item, hit.score) for hit in answer.hits)
