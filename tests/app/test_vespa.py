"""Export for Vespa: what its expressions compute over the feed are our own scores."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from app import vespa
from app.engine.drafts import Draft
from index.search.requests import Request
from models.text.queries import Query
from models.vision import images


@pytest.fixture
def home(engine, png):
    for name, colours in {"a/1": ("red", "blue"), "b": ("green",), "ü#2": ("white", "red")}.items():
        draft = Draft(name, {"n": 1}, sentences=(f"{' '.join(colours)} square", "a grey one"))
        engine.put("default", [draft.with_photo(png(*colours), images.read)])
    return engine.open("default")


def tensor(written: dict[str, Any]) -> np.ndarray:
    return np.array([*written["blocks"].values()])


def evaluated(words: dict[str, Any], regions: dict[str, Any]) -> float:
    """sum(reduce(sum(query(…) * attribute(fragments), x), max, region), word)."""
    products = np.einsum("wx,rx->wr", tensor(words), tensor(regions))
    return float(products.max(axis=1).sum())


def test_expressions_over_the_feed_are_our_scores_in_both_directions(engine, home, png):
    feed = list(vespa.documents(engine.catalog, home))
    text = engine.models.query("a red square")
    photo = Query.of(engine.models.photo(images.read(png("blue", "white"))))
    for side, query in (("images", text), ("sentences", photo)):
        kind = "photo" if side == "images" else "sentence"
        body = vespa.request(query, home.score)
        scores = {}
        for document in feed:
            fields = document["fields"]
            if document["put"].startswith(f"id:tessera:{kind}::"):
                asked = body.get("input.query(words)") or body["input.query(regions)"]
                pair = (asked, fields["fragments"])
                words, regions = pair if side == "images" else reversed(pair)
                scores[fields["item"], fields["position"]] = evaluated(words, regions)
        hits = engine.search("default", Request(side, query, limit=100)).hits
        ours = {(hit.item, hit.photo or max(hit.position, 0)): hit.score for hit in hits}
        assert ours == pytest.approx(scores, abs=1e-4)
        assert len(scores) == (3 if side == "images" else 6)


def test_application_has_a_profile_for_each_direction_and_valid_brackets(engine, home, tmp_path):
    folder = tmp_path / "application"
    assert vespa.write(engine.catalog, home, folder) == 9
    photo, sentence = (
        (folder / f"schemas/{kind}.sd").read_text() for kind in ("photo", "sentence")
    )
    assert "field fragments type tensor<float>(region{}, x[3])" in photo
    assert "query(words) tensor<float>(word{}, x[3])" in photo
    mirror = "sum(reduce(sum(query(regions) * attribute(fragments), x), max, region), word)"
    assert mirror in sentence
    assert mirror.replace("regions", "words") in photo
    for text in (photo, sentence):
        assert text.count("{") == text.count("}")
        inputs = re.findall(r"query\((\w+)\) tensor", text)
        assert set(re.findall(r"query\((\w+)\)", text)) == set(inputs)
    lines = [json.loads(line) for line in (folder / "feed.jsonl").read_text().splitlines()]
    assert lines[0]["put"] == "id:tessera:photo::a/1#0"
    assert len({line["put"] for line in lines}) == 9


def test_what_has_no_expression_is_refused(engine, home):
    for text in ("a red square without blue", "no blue"):
        query = engine.models.query(text)
        with pytest.raises(ValueError, match="a text without negation, or a photo"):
            vespa.request(query, home.score)
