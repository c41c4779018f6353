"""Product search: precision, misspellings, and speed.

Precision over a judged catalogue; speed with many products.

    python -m benchmarks.service.product_search products_fashion --data /tmp/products
    python -m benchmarks.service.product_search … --many 100000 --bags ../cache/bench

A product answers "navy blue shirt" if its colour and its kind are those. The first `--limit`
products by a digest of their ids are embedded and judged; what is in the data folder already is
kept. With `--many`, products are repeated with other ids, prices and colours and take photos' bags
of `--bags` (benchmarks/index/bags.py) in turn.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from app.engine import product_search as products
from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.settings import Settings
from benchmarks.index.bags import Bags
from index.documents.words import tokens
from index.items import Entry, Picture
from index.listing.requests import FacetRequest
from index.products.requests import ProductRequest, Weights
from models.types import Box, FragmentBag

TOP, LEAST = 5, 5  # hits that are judged, and products that a query needs
BATCH, LOT = 16, 1_000
ODD = 60  # misspelt words of a text without a meaning
FIELDS = ("title", "gender", "masterCategory", "subCategory", "articleType", "baseColour")
HIDDEN = dict.fromkeys((*FIELDS[1:], "season", "usage", "year"), 0.0)  # all but the title
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FACETS = tuple(map(FacetRequest, ("baseColour", "articleType", "gender", "price", "usage")))
PICTURE = Picture(b"", 1, 1, "")  # no one looks at it
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query and the ids of its answers."""

    text: str
    ids: frozenset[str]


def choose(data: Path, limit: int) -> list[Row]:
    """The first rows by a digest of their ids."""
    rows = [json.loads(line) for line in (data / "items.jsonl").read_text("utf-8").splitlines()]
    rows.sort(key=lambda row: hashlib.sha256(row["id"].encode()).hexdigest())
    return rows[:limit]


def describe(row: Row) -> Row:
    """The metadata of a product."""
    return {key: value for key, value in row.items() if key not in ("id", "image")}


def embed(engine: Engine, data: Path, rows: Sequence[Row]) -> None:
    """Embed and store the missing rows."""
    home = engine.open("fashion", create=True)
    stored = engine.catalog.get_many(home, [row["id"] for row in rows])
    left = [row for row in rows if row["id"] not in stored]
    for at in range(0, len(left), BATCH):
        drafts = [
            Draft(row["id"], describe(row)).with_photo((data / row["image"]).read_bytes())
            for row in left[at : at + BATCH]
        ]
        refused = engine.put_each("fashion", home, drafts)
        assert not any(refused), refused
        print(f"{at + len(drafts):,} of {len(left):,} embedded", flush=True)


def singular(kind: str) -> str:
    """A kind in the singular: "Casual Shoes" is a casual shoe."""
    return kind if kind.endswith("ss") or not kind.endswith("s") else kind[:-1]


def queries(items: dict[str, Row]) -> dict[str, list[JudgedQuery]]:
    """Queries by attributes, with at least a few answers each."""
    forms: dict[str, Callable[[Row], str]] = {
        "colour and kind": lambda row: f"{row['baseColour']} {singular(row['articleType'])}",
        "gender and kind": lambda row: f"{row['gender']} {row['articleType']}",
        "kind": lambda row: str(row["articleType"]),
    }
    judged = {}
    for name, form in forms.items():
        by_text: dict[str, set[str]] = {}
        for item, row in items.items():
            by_text.setdefault(form(row).lower(), set()).add(item)
        candidates = [JudgedQuery(text, frozenset(ids)) for text, ids in sorted(by_text.items())]
        judged[name] = [query for query in candidates if len(query.ids) >= LEAST]
    return judged


def precision(engine: Engine, judged: Sequence[JudgedQuery], request: ProductRequest) -> float:
    """The mean share of right answers among the first hits."""
    shares = []
    for query in judged:
        hits = products.search(engine, "fashion", request, query.text).answer.hits
        shares.append(sum(hit.id in query.ids for hit in hits) / TOP)
    return fmean(shares)


def misspell(word: str, rng: random.Random) -> str:
    """A word with one edit: a missing, inserted, changed or swapped letter."""
    at = rng.randrange(1, len(word) - 1)
    letter = rng.choice(LETTERS)
    return rng.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ]
    )


def typos(engine: Engine, items: dict[str, Row], count: int) -> float:
    """The share of misspellings with the same first hits.

    Words are those of titles.
    """
    rng = random.Random(0)
    known = sorted({t.folded for row in items.values() for t in tokens(row["title"])})
    long = [word for word in known if len(word) >= 4 and word.isalpha()]
    request = ProductRequest(weights=Weights(looks=0), limit=TOP)

    def top(text: str) -> list[str]:
        answer = products.search(engine, "fashion", request, text).answer
        return [hit.id for hit in answer.hits]

    same = []
    for word in rng.choices(long, k=count):
        typed = misspell(word, rng)
        if typed not in known:
            same.append(top(typed) == top(word))
    return fmean(same)


def fill(engine: Engine, rows: Sequence[Row], bags: Bags, count: int) -> None:
    """Store many products, each a changed row with a real photo's bag."""
    home = engine.open("many", create=True)
    rng = random.Random(1)
    for start in range(engine.catalog.count(home), count, LOT):
        entries = [vary(rows, bags, number, rng) for number in range(start, start + LOT)]
        engine.catalog.put_many(home, entries)
        print(f"{start + LOT:,} of {count:,} stored", flush=True)
    engine.indexes.build()


def vary(rows: Sequence[Row], bags: Bags, number: int, rng: random.Random) -> Entry:
    """A row with another id, price and colour, and a real photo's bag."""
    row, other = rows[number % len(rows)], rng.choice(rows)
    metadata = describe(row) | {
        "baseColour": other["baseColour"],
        "price": round(rng.lognormvariate(3.5, 0.8), 2),
        "stock": rng.randrange(50),
    }
    vectors = torch.from_numpy(bags[number % len(bags)])
    places = tuple(Box(0.0, 0.0, 1.0, 1.0) for _ in vectors)
    bag = FragmentBag(vectors, places, tuple("" for _ in vectors))
    return Entry(f"{number:06}", metadata, (PICTURE,), (bag,))


def measure_time(work: Callable[[int], object], count: int) -> tuple[float, float]:
    """Median and 95th percentile of runs in milliseconds, after a warm-up."""
    times = []
    for number in range(count + 5):
        start = time.perf_counter()
        work(number)
        times.append(1000 * (time.perf_counter() - start))
    return tuple(np.percentile(times[5:], [50, 95]).tolist())


def misspell_texts(texts: Sequence[str], count: int) -> list[str]:
    """Texts of ODD misspelt words each, from the words of other texts."""
    rng = random.Random(3)
    long = [word for text in texts for word in text.split() if len(word) >= 4]
    return [
        " ".join(misspell(word, rng) for word in rng.choices(long, k=ODD)) for _ in range(count)
    ]


def speed(engine: Engine, texts: Sequence[str]) -> Iterator[str]:
    """Durations of searches with facets and a range, and of their parts."""
    start = time.perf_counter()
    reader = engine.index("many").documents
    while not len(documents := reader.current()) or documents.behind:
        time.sleep(0.5)
    yield f"documents read in {time.perf_counter() - start:.1f} s: {len(documents):,}"
    request = ProductRequest(facets=FACETS, least=engine.models.weak_below or 0.0)

    def search(number: int, request: ProductRequest = request) -> object:
        where = {"price": {"gte": 10 + number % 30, "lt": 60 + number % 50}}
        filtered = replace(request, where=where)
        return products.search(engine, "many", filtered, texts[number % len(texts)])

    def browse(number: int) -> object:
        where = {"price": {"gte": 10 + number % 30}}
        return products.search(engine, "many", replace(request, where=where, sort="price"))

    words_alone = replace(request, weights=Weights(looks=0))
    odd = misspell_texts(texts, 10)
    for name, work in {
        "words and looks": search,
        "words": lambda number: search(number, words_alone),
        f"{ODD} misspelt words": lambda number: products.search(
            engine, "many", words_alone, odd[number % len(odd)]
        ),
        "browse, sorted": browse,
        "completions": lambda number: products.suggest(
            engine, "many", texts[number % len(texts)][:4], 10
        ),
        "embedding the text": lambda number: engine.models.query(texts[number % len(texts)]),
    }.items():
        median, late = measure_time(work, 100)
        yield f"{name}: p50 {median:.1f} ms, p95 {late:.1f} ms"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("catalogue", type=Path, help="folder of items.jsonl and its photos")
    parser.add_argument("--data", type=Path, required=True, help="data folder to keep items in")
    parser.add_argument("--limit", type=int, default=1_000)
    parser.add_argument("--typos", type=int, default=300)
    parser.add_argument("--many", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="of the models")
    parser.add_argument("--bags", type=Path, help="folder of real photos' bags")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    engine = Engine.load(
        Settings(data=options.data, captioner=None, region_captioner=None, grounder=None)
    )
    rows = choose(options.catalogue, options.limit)
    embed(engine, options.catalogue, rows)
    items = {row["id"]: row for row in rows}
    judged = queries(items)
    report(engine, judged)
    print(f"misspellings with the same top {TOP}: {typos(engine, items, options.typos):.3f}")
    if options.many:
        fill(engine, rows, Bags.load(options.bags, "images-other"), options.many)
        texts = [query.text for group in judged.values() for query in group]
        engine.serve()
        for line in speed(engine, random.Random(2).sample(texts, len(texts))):
            print(line, flush=True)
    engine.close()


def report(engine: Engine, judged: dict[str, list[JudgedQuery]]) -> None:
    """Print the precision of words, looks and both, by fields."""
    least = engine.models.weak_below or 0.0
    ways = {"both": Weights(), "words": Weights(looks=0), "looks": Weights(words=0, exact=0)}
    for name, group in judged.items():
        for label, fields in {"all fields": {}, "titles": HIDDEN}.items():
            request = ProductRequest(fields=fields, least=least, limit=TOP)
            precisions = [
                f"{way} {precision(engine, group, replace(request, weights=weights)):.3f}"
                for way, weights in ways.items()
            ]
            print(f"P@{TOP} of {name} ({len(group)}), {label}: {', '.join(precisions)}", flush=True)


if __name__ == "__main__":
    main()
