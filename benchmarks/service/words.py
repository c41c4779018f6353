"""Words of product search: judged titles, other engines, and speed.

    python -m benchmarks.service.words                       # titles of tests/index/products
    python -m benchmarks.service.words --engines             # also tantivy and SQLite's FTS5
    python -m benchmarks.service.words --speed products_fashion --against ../other

A row of titles is right if the first come first, the others are found, and the rest are not. Other
engines search by their own words, all of a query; install them by `uv pip install tantivy`. Speed
is that of reading and ranking words, in turns with the other checkout, each in its own process.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import tomllib
import unicodedata
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

Row = tuple[str, list[str], list[str], list[str]]
Search = Callable[[str], list[str]]
TABLE = Path(__file__).parents[2] / "tests/index/products/query_titles.toml"
FIELDS = ("title", "gender", "masterCategory", "subCategory", "articleType", "baseColour")
MOST = 2_000  # hits


def read_table() -> dict[str, list[Row]]:
    """The judged rows by their kind."""
    return tomllib.loads(TABLE.read_text("utf-8"))


def list_titles(table: dict[str, list[Row]]) -> list[str]:
    """All titles of a table, each once."""
    rows = [row for rows in table.values() for row in rows]
    return list(dict.fromkeys(title for _, *groups in rows for group in groups for title in group))


def is_right(hits: list[str], first: list[str], after: list[str], never: list[str]) -> bool:
    """Return whether a row's titles are found as they should be."""
    places = {title: place for place, title in enumerate(hits)}
    last = max(places.get(title, MOST) for title in first)
    return (
        all(title in places for title in (*first, *after))
        and not any(title in places for title in never)
        and not any(places[title] < last for title in after)
    )


def search_here(titles: list[str]) -> Search:
    """The search of this checkout."""
    from index.catalog.views import ItemRow
    from index.documents.documents import Documents
    from index.products.query import read_text
    from index.products.ranking import rank
    from index.products.requests import ProductRequest

    documents = Documents()
    documents.add(
        [ItemRow(at + 1, f"{at:04}", {"title": title}, ()) for at, title in enumerate(titles)]
    )

    def search(query: str) -> list[str]:
        request = ProductRequest(text=read_text(query, documents), limit=MOST)
        return [titles[int(hit.id)] for hit in rank(documents, request, {}).hits]

    return search


def search_by_sqlite(titles: list[str]) -> Search:
    """SQLite's FTS5 with Unicode's letters, without accents, and Porter's stemmer."""
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE texts USING "
        'fts5(title, tokenize="porter unicode61 remove_diacritics 2")'
    )
    connection.executemany(
        "INSERT INTO texts (rowid, title) VALUES (?, ?)",
        enumerate(unicodedata.normalize("NFKC", title) for title in titles),
    )

    def search(query: str) -> list[str]:
        words = [
            f'"{word}"' for word in unicodedata.normalize("NFKC", query).replace('"', " ").split()
        ]
        rows = connection.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank", (" AND ".join(words),)
        )
        return [titles[place] for (place,) in rows]

    return search


def search_by_tantivy(titles: list[str], pattern: str | None) -> Search:
    """Tantivy's simple words, or matches of a pattern, folded and stemmed."""
    import tantivy

    tokenizer = tantivy.Tokenizer.regex(pattern) if pattern else tantivy.Tokenizer.simple()
    builder = tantivy.TextAnalyzerBuilder(tokenizer).filter(tantivy.Filter.lowercase())
    analyzer = builder.filter(tantivy.Filter.ascii_fold()).filter(tantivy.Filter.stemmer("english"))
    words = analyzer.build()
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("title", tokenizer_name="words")
    schema.add_unsigned_field("place", stored=True)
    built = schema.build()
    index = tantivy.Index(built)
    index.register_tokenizer("words", words)
    writer = index.writer()
    for place, title in enumerate(titles):
        writer.add_document(
            tantivy.Document(title=[unicodedata.normalize("NFKC", title)], place=[place])
        )
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> list[str]:
        parts: list[Any] = []
        for word in unicodedata.normalize("NFKC", query).split():
            terms = words.analyze(word)
            if pattern and len(terms) > 1:
                parts.append(tantivy.Query.phrase_query(built, "title", terms))
            else:
                parts += [tantivy.Query.term_query(built, "title", term) for term in terms]
        every = tantivy.Query.boolean_query([(tantivy.Occur.Must, part) for part in parts])
        hits = searcher.search(every, limit=MOST).hits if parts else []
        return [titles[searcher.doc(place)["place"][0]] for _, place in hits]

    return search


def judge(engines: bool) -> None:
    """Print the rightly answered rows, by kind."""
    table = read_table()
    titles = list_titles(table)
    searches = {"tessera": search_here(titles)}
    if engines:
        searches["SQLite FTS5"] = search_by_sqlite(titles)
        searches["tantivy"] = search_by_tantivy(titles, None)
        pattern = r"[\p{L}\p{M}]+|\d+(?:[.,]\d+)*"
        searches["tantivy by tokens and phrases"] = search_by_tantivy(titles, pattern)
    for name, search in searches.items():
        right = {
            kind: sum(is_right(search(query), *groups) for query, *groups in rows)
            for kind, rows in table.items()
        }
        print(f"{name}: {sum(right.values())} of {sum(map(len, table.values()))} rows")
        print("  " + ", ".join(f"{kind} {right[kind]}/{len(table[kind])}" for kind in table))


def serve(catalogue: Path, count: int) -> None:
    """Time the queries of each line of the input."""
    from index.catalog.views import ItemRow
    from index.documents.documents import Documents
    from index.listing.requests import FacetRequest
    from index.products.query import read_text
    from index.products.ranking import rank
    from index.products.requests import ProductRequest

    lines = (catalogue / "items.jsonl").read_text("utf-8").splitlines()[:1_000]
    rows = [json.loads(line) for line in lines]
    documents, start = Documents(), time.process_time()
    documents.add(
        ItemRow(at + 1, f"{at:06}", {key: str(rows[at % len(rows)][key]) for key in FIELDS}, ())
        for at in range(count)
    )
    print(json.dumps(time.process_time() - start), flush=True)
    facets = (FacetRequest("baseColour"), FacetRequest("articleType"))
    for line in sys.stdin:
        times = []
        for query in json.loads(line):
            start = time.perf_counter()
            rank(documents, ProductRequest(text=read_text(query, documents), facets=facets), {})
            times.append(time.perf_counter() - start)
        print(json.dumps(min(times)), flush=True)


def start(checkout: Path, catalogue: Path, count: int) -> subprocess.Popen[str]:
    """Start a process to time the searches of a checkout."""
    command = [
        sys.executable,
        __file__,
        "--speed",
        str(catalogue),
        "--items",
        str(count),
        "--serve",
    ]
    return subprocess.Popen(  # noqa: S603 - this script itself
        command,
        env=os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def list_queries(catalogue: Path) -> list[str]:
    """Queries of a catalogue: colours and kinds, kinds, titles, and joined words."""
    lines = (catalogue / "items.jsonl").read_text("utf-8").splitlines()[:1_000:50]
    rows = [json.loads(line) for line in lines]
    texts = [f"{row['baseColour']} {row['articleType']}" for row in rows]
    texts += [row["title"] for row in rows] + [row["articleType"] for row in rows]
    return [*texts, *(re.sub(r"(\w) (\w)", r"\1-\2", row["title"], count=1) for row in rows)]


def race(catalogue: Path, count: int, other: Path, rounds: int) -> None:
    """Print the times of two checkouts in turns, and their ratio."""
    ours = Path(__file__).parents[2]
    processes = [start(checkout, catalogue, count) for checkout in (ours, other)]
    pipes = [(process.stdin, process.stdout) for process in processes]
    seconds = [json.loads(out.readline()) for _, out in pipes if out]
    print(f"{count:,} items read in {seconds[0]:.1f} s of the processor, there {seconds[1]:.1f} s")
    ratios, times = [], []
    for _ in range(rounds):
        for query in list_queries(catalogue):
            pair = []
            for sent, answers in pipes:
                assert sent is not None
                assert answers is not None
                sent.write(json.dumps([query] * 5) + "\n")
                sent.flush()
                pair.append(json.loads(answers.readline()))
            times.append(pair[0])
            ratios.append(pair[0] / pair[1])
    print(f"a search: {1000 * median(times):.2f} ms here, {median(ratios):.3f} of that there")
    for process in processes:
        process.terminate()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engines", action="store_true", help="judge other engines as well")
    parser.add_argument("--speed", type=Path, help="folder of a catalogue's items.jsonl")
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.speed, options.items)
    elif options.speed:
        race(options.speed, options.items, options.against or Path.cwd(), options.rounds)
    else:
        judge(options.engines)


if __name__ == "__main__":
    main()
