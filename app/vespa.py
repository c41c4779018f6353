"""Export for Vespa: an application with rank profiles for both directions, and a feed.

The expressions are those that Vespa documents for late interaction (MaxSim): the sum over the
query's vectors of the largest product with one of the document's, and its mirror, the sum over the
document's. Nothing here was run against a live Vespa.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.bags import photo_at, position_of
from index.catalog.catalog import Catalog
from index.catalog.read_rows import Stored
from index.database.checksums import ItemDamaged
from index.items import Collection, Item
from models.scores.scoring import score_named
from models.text.queries import Query

PAGE = 200  # items that are read at a time
RERANKED = 400  # photos or sentences of a node whose exact scores are computed
Floats = NDArray[np.float32]

SERVICES = """<?xml version="1.0" encoding="utf-8" ?>
<services version="1.0">
  <container id="default" version="1.0">
    <document-api/>
    <search/>
  </container>
  <content id="tessera" version="1.0">
    <min-redundancy>2</min-redundancy>
    <documents>
      <document type="photo" mode="index"/>
      <document type="sentence" mode="index"/>
    </documents>
  </content>
</services>
"""
# Of photos a query's words are summed over; of sentences, the stored words: the mirror.
SCHEMA = """schema {kind} {{
    document {kind} {{
        field item type string {{
            indexing: summary | attribute
        }}
        field position type int {{
            indexing: summary | attribute
        }}
        field content type string {{
            indexing: summary
        }}
        field metadata type string {{
            indexing: summary
        }}
        field fragments type tensor<float>({fragment}{{}}, x[{dimension}]) {{
            indexing: attribute
        }}
        field total type tensor<float>(x[{dimension}]) {{
            indexing: attribute | index
            attribute {{
                distance-metric: dotproduct
            }}
        }}
    }}
    rank-profile {profile} {{
        inputs {{
            query({other}s) tensor<float>({other}{{}}, x[{dimension}])
            query(total) tensor<float>(x[{dimension}])
        }}
        first-phase {{
            expression: sum(query(total) * attribute(total))
        }}
        second-phase {{
            rerank-count: {reranked}
            expression: {expression}
        }}
    }}
}}
"""
MAXIMA = "sum(query({other}s) * attribute(fragments), x)"
EXPRESSION = "sum(reduce(" + MAXIMA + ", max, region), word)"


def write(catalog: Catalog, collection: Collection, folder: Path) -> int:
    """Write an application and `feed.jsonl` to a new folder; how many documents there are.

    ValueError for a score that Vespa has no expression for here; OSError where a file is there.
    """
    if collection.score != "sum_of_max":
        raise ValueError(
            f"collection {collection.name!r} is scored by {collection.score}; the export writes "
            "expressions for sum_of_max alone"
        )
    (folder / "schemas").mkdir(parents=True)
    (folder / "services.xml").write_text(SERVICES)
    for kind in ("photo", "sentence"):
        (folder / "schemas" / f"{kind}.sd").write_text(schema(kind, collection.dimension))
    count = 0
    with (folder / "feed.jsonl").open("w", encoding="utf-8") as feed:
        for document in documents(catalog, collection):
            feed.write(json.dumps(document, ensure_ascii=False) + "\n")
            count += 1
    return count


def schema(kind: str, dimension: int) -> str:
    """The schema of photos or of sentences, with the rank profile that searches them."""
    fragment, other = ("region", "word") if kind == "photo" else ("word", "region")
    return SCHEMA.format(
        kind=kind,
        fragment=fragment,
        other=other,
        dimension=dimension,
        profile="text_to_photo" if kind == "photo" else "photo_to_sentence",
        reranked=RERANKED,
        expression=EXPRESSION.format(other=other),
    )


def documents(catalog: Catalog, collection: Collection) -> Iterator[dict[str, Any]]:
    """Every photo and every sentence as a line of a feed."""
    after = ""
    while items := catalog.list_items(collection, after=after, limit=PAGE):
        after = items[-1].id
        keys = {
            (item.revision, position): item
            for item in items
            for position in (
                *map(position_of, range(len(item.photos))),
                *range(len(item.sentences)),
            )
        }
        bags = catalog.look_up(collection, list(keys))
        for item_id in bags.damaged.values():
            raise ItemDamaged(item_id)
        for key, stored in bags.sound.items():
            yield document(keys[key], stored, collection)


def document(item: Item, stored: Stored, collection: Collection) -> dict[str, Any]:
    """One photo or sentence: its fragments, and the vector that stands for all of them."""
    photo = photo_at(stored.position)
    start = np.zeros(1, np.int64)
    score = score_named(collection.score)
    summary = score.sentence_summary if photo is None else score.image_summary
    kind, number = ("sentence", stored.position) if photo is None else ("photo", photo)
    fields = {
        "item": item.id,
        "position": number,
        "content": item.sentences[number] if photo is None else "",
        "metadata": json.dumps(item.metadata, ensure_ascii=False),
        "fragments": blocks(stored.vectors),
        "total": {"values": summary(stored.vectors, start)[0].tolist()},
    }
    return {"put": f"id:tessera:{kind}::{item.id}#{number}", "fields": fields}


def request(query: Query, score: str, limit: int = 10) -> dict[str, Any]:
    """The body of a request to /search/ that asks what a text, or a photo, asks here.

    ValueError for a query of several parts, or a negated one, which have other expressions.
    """
    if len(query.parts) != 1 or query.weights[0] < 0:
        raise ValueError("only a text without negation, or a photo, is one tensor of a request")
    vectors = query.bag.vectors.numpy()
    text, start = query.text is not None, np.zeros(1, np.int64)
    scoring = score_named(score)
    summary = scoring.sentence_summary if text else scoring.image_summary
    kind, other = ("photo", "words") if text else ("sentence", "regions")
    nearest = f"{{targetHits:{RERANKED}}}nearestNeighbor(total, total)"
    return {
        "yql": f"select item, position, content from {kind} where {nearest}",  # noqa: S608 - no SQL
        "ranking": "text_to_photo" if text else "photo_to_sentence",
        f"input.query({other})": blocks(vectors),
        "input.query(total)": {"values": summary(vectors, start)[0].tolist()},
        "hits": limit,
    }


def blocks(vectors: Floats) -> dict[str, Any]:
    """Vectors (F, D) as a tensor of one mapped and one indexed dimension."""
    return {"blocks": {str(number): row.tolist() for number, row in enumerate(vectors)}}
