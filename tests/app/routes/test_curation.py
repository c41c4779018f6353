"""Synonyms and pinned items change the next search of their collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.engine.drafts import Draft
from app.engine.engine import Engine
from index.backup import snapshots as backup
from index.database import curation
from tests.catalogs import Catalogs
from tests.stored_items import put

TITLES = {"sofa": "grey sofa", "couch": "red couch", "lamp": "red lamp", "rug": "red rug"}


@pytest.fixture
def shop(engine: Engine, client: TestClient) -> TestClient:
    put(engine, "shop", [Draft(name, {"title": title}) for name, title in TITLES.items()])
    return client


def search(client: TestClient, text: str, **fields: Any) -> list[dict[str, Any]]:
    sent = {"text": text, "collection": "shop", **fields}
    answer = client.post("/search/products", json=sent)
    assert answer.status_code == 200, answer.text
    return answer.json()["hits"]


def ids(hits: list[dict[str, Any]]) -> list[str]:
    return [hit["id"] for hit in hits]


def test_synonyms_are_found_by_the_next_search(shop: TestClient) -> None:
    assert ids(search(shop, "settee")) == []
    sent = {"synonyms": [["Settee", "sofa", "couch"]]}
    assert shop.put("/collections/shop/synonyms", json=sent).json() == sent
    assert sorted(ids(search(shop, "settee"))) == ["couch", "sofa"]
    assert sorted(ids(search(shop, "sofa"))) == ["couch", "sofa"]
    assert shop.get("/collections/shop/synonyms").json() == sent
    shop.put("/collections/shop/synonyms", json={"synonyms": []})
    assert ids(search(shop, "settee")) == []


def test_pinned_items_come_first_and_say_so(shop: TestClient) -> None:
    pins = {"pins": [{"text": "Red!", "ids": ["rug", "sofa", "gone"]}]}
    answer = shop.put("/collections/shop/pins", json=pins).json()
    assert answer == pins | {"notes": ["not stored yet: 'gone'"]}
    hits = search(shop, "red")
    assert ids(hits)[:2] == ["rug", "sofa"]
    assert sorted(ids(hits)[2:]) == ["couch", "lamp"]
    for hit in hits:
        assert sum(part["gave"] for part in hit["parts"]) == pytest.approx(hit["score"])
        pinned = [part["gave"] for part in hit["parts"] if part["kind"] == "pinned"]
        assert pinned == {"rug": [200], "sofa": [100]}.get(hit["id"], [])


def test_pins_keep_filters_refusals_orders_and_other_texts(shop: TestClient) -> None:
    shop.put("/collections/shop/pins", json={"pins": [{"text": "red", "ids": ["sofa"]}]})
    assert ids(search(shop, "red", filter={"title": "red rug"})) == ["rug"]
    assert "sofa" not in ids(search(shop, "red lamp"))
    assert "sofa" not in ids(search(shop, "red", sort={"key": "title"}))
    refusing = {"pins": [{"text": "red -grey", "ids": ["sofa"]}]}
    shop.put("/collections/shop/pins", json=refusing)
    assert "sofa" not in ids(search(shop, "red -grey"))


@pytest.mark.parametrize(("pinned", "text"), [("Käse", "kaese!"), ("Kaese", "käse")])
def test_pins_are_used_for_umlauts_in_either_spelling(
    shop: TestClient, pinned: str, text: str
) -> None:
    shop.put("/collections/shop/pins", json={"pins": [{"text": pinned, "ids": ["rug"]}]})
    assert ids(search(shop, text)) == ["rug"]
    exact = [{"text": pinned, "ids": ["rug"]}, {"text": text, "ids": ["lamp"]}]
    shop.put("/collections/shop/pins", json={"pins": exact})
    assert ids(search(shop, text)) == ["lamp"]
    assert ids(search(shop, pinned)) == ["rug"]


def test_pins_are_for_no_other_words(shop: TestClient) -> None:
    shop.put("/collections/shop/pins", json={"pins": [{"text": "pot", "ids": ["rug"]}]})
    assert ids(search(shop, "poet")) == []
    assert ids(search(shop, "pot")) == ["rug"]


def test_emoji_of_pins_and_synonyms_are_read_as_those_of_searches(shop: TestClient) -> None:
    shop.put("/collections/shop/pins", json={"pins": [{"text": "red 🐱", "ids": ["rug"]}]})
    assert ids(search(shop, "red 🐱"))[0] == ids(search(shop, "red cat"))[0] == "rug"
    shop.put("/collections/shop/synonyms", json={"synonyms": [["🐱", "sofa"]]})
    assert "sofa" in ids(search(shop, "🐱"))


def test_pages_go_on_behind_pinned_items(shop: TestClient) -> None:
    shop.put("/collections/shop/pins", json={"pins": [{"text": "red", "ids": ["sofa"]}]})
    sent: dict[str, Any] = {"text": "red", "collection": "shop", "limit": 1}
    seen: list[str] = []
    for _ in range(4):
        page = shop.post("/search/products", json=sent).json()
        seen += ids(page["hits"])
        sent["cursor"] = page["cursor"]
    assert seen[0] == "sofa"
    assert sorted(seen) == ["couch", "lamp", "rug", "sofa"]
    assert page["cursor"] is None
    assert page["total"] == 4


@pytest.mark.parametrize(
    ("part", "sent", "mistake"),
    [
        ("synonyms", {"synonyms": [["sofa"]]}, "at least 2"),
        ("synonyms", {"synonyms": [["sofa", "!"]]}, "'!' has no letter or digit"),
        ("pins", {"pins": [{"text": "?", "ids": ["a"]}]}, "'?' has no letter or digit"),
        ("pins", {"pins": [{"text": "red", "ids": ["a", "a"]}]}, "an id is there twice"),
        (
            "pins",
            {"pins": [{"text": "Red", "ids": ["a"]}, {"text": "red.", "ids": ["b"]}]},
            "'Red' and 'red.' are the same text",
        ),
    ],
)
def test_mistakes_are_explained(
    shop: TestClient, part: str, sent: dict[str, Any], mistake: str
) -> None:
    answer = shop.put(f"/collections/shop/{part}", json=sent)
    assert answer.status_code == 422
    assert mistake in answer.json()["detail"]
    assert shop.get(f"/collections/nowhere/{part}").status_code == 404


def test_they_stay_with_a_renamed_collection_and_go_with_a_dropped_one(shop: TestClient) -> None:
    sent = {"synonyms": [["settee", "sofa"]]}
    shop.put("/collections/shop/synonyms", json=sent)
    shop.put("/aliases/front", json={"collection": "shop"})
    assert shop.get("/collections/front/synonyms").json() == sent
    assert shop.delete("/aliases/front").status_code == 204
    shop.patch("/collections/shop", json={"name": "store"})
    assert shop.get("/collections/store/synonyms").json() == sent
    asked = {"text": "settee", "collection": "store"}
    assert ids(shop.post("/search/products", json=asked).json()["hits"]) == ["sofa"]
    shop.delete("/collections/store")
    shop.put("/collections/store")
    assert shop.get("/collections/store/synonyms").json() == {"synonyms": []}


def test_snapshots_have_them(
    shop: TestClient, engine: Engine, catalogs: Catalogs, tmp_path: Path
) -> None:
    pins = [{"text": "red", "ids": ["rug"]}]
    shop.put("/collections/shop/pins", json={"pins": pins})
    file = tmp_path / "a.tar"
    backup.snapshot(engine.catalog, file, lambda *_: None)
    (tmp_path / "new").mkdir()
    with catalogs.in_folder(tmp_path / "new") as catalog:
        home = catalog.names.make("shop", **engine.models.makes)
        curation.write(catalog.writer, home, "synonyms", [["a", "b"]])
        backup.restore(catalog, file, tmp_path / "new", lambda *_: None, force=True)
        restored = catalog.names.find("shop")
        assert curation.read(catalog.reader, restored, "pins") == pins
        assert curation.read(catalog.reader, restored, "synonyms") == []


def choose(client: TestClient, code: str, name: str = "shop") -> Any:
    answer = client.put(f"/collections/{name}/language", json={"language": code})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_language_of_a_collection_finds_its_words_in_other_forms(
    engine: Engine, client: TestClient
) -> None:
    titles = {"a": "Rote Schuhe", "b": "Gelbe Hemden", "c": "Müller Becher"}
    put(engine, "shop", [Draft(name, {"title": title}) for name, title in titles.items()])
    assert client.get("/collections/shop/language").json() == {"language": "en", "name": "English"}
    assert ids(search(client, "hemd")) == []
    assert choose(client, "de") == {"language": "de", "name": "German"}
    for text, id_ in {"hemd": "b", "roter Schuh": "a", "mueller": "c", "MÜLLER": "c"}.items():
        assert ids(search(client, text)) == [id_]
    hit = search(client, "gelbes Hemd")[0]
    assert sum(part["gave"] for part in hit["parts"]) == pytest.approx(hit["score"])
    put(engine, "shop", [Draft("d", {"title": "Gelbes Hemd"})])
    assert sorted(ids(search(client, "hemden"))) == ["b", "d"]
    answer = client.get("/suggest", params={"text": "mull", "collection": "shop"})
    assert [found["text"] for found in answer.json()["suggestions"]] == ["müller becher"]
    choose(client, "en")
    assert ids(search(client, "hemd")) == ["d"]


def test_the_language_stays_with_a_renamed_collection_and_is_in_snapshots(
    shop: TestClient, engine: Engine, catalogs: Catalogs, tmp_path: Path
) -> None:
    choose(shop, "tr")
    shop.patch("/collections/shop", json={"name": "store"})
    assert shop.get("/collections/store/language").json()["name"] == "Turkish"
    file = tmp_path / "a.tar"
    backup.snapshot(engine.catalog, file, lambda *_: None)
    (tmp_path / "new").mkdir()
    with catalogs.in_folder(tmp_path / "new") as catalog:
        backup.restore(catalog, file, tmp_path / "new", lambda *_: None, force=True)
        restored = catalog.names.find("store")
        assert curation.read(catalog.reader, restored, "language") == ["tr"]


def test_an_unknown_language_is_refused_with_those_there_are(shop: TestClient) -> None:
    answer = shop.put("/collections/shop/language", json={"language": "xx"})
    assert answer.status_code == 422
    assert "no language 'xx'; there are ar, ca, cs, da, de" in answer.json()["detail"]
    assert shop.get("/collections/nowhere/language").status_code == 404
