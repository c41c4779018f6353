"""The engine embeds, stores and explains without the web."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path

import pytest
import torch

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.engine.inference import Models
from app.settings import Settings
from index.items import ModelMismatch
from index.search.requests import Request
from models.machine_code import compile_loop
from models.scores.kernels import sums_of_maxima
from models.scores.scoring import SumOfMax
from models.text.queries import Query
from models.types import Box, FragmentBag
from models.vision import backbones
from models.vision.images import decode
from tests.stored_items import put

Png = Callable[..., bytes]


def test_phrases_score_is_the_weighted_sum_of_their_own(engine: Engine, png: Png) -> None:
    image = engine.models.photo(decode(png("red", "lime")))

    def score(query: Query) -> float:
        return engine.models.align(image, query, beta=0.0).score

    query = engine.models.query([("a red thing", 2.0), ("lime", 0.5)])
    assert query.text == "a red thing, lime"
    own = 2 * score(engine.models.query("a red thing")) + 0.5 * score(engine.models.query("lime"))
    assert score(query) == pytest.approx(own)


def test_a_short_query_is_embedded_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    first = engine.models.query("a red thing")
    weighted = engine.models.query([("a red thing", 2.0)])
    long = engine.models.query("a red thing " * 10)
    embedded: list[str] = []
    embed = engine.models.matcher.embed_sentences

    def counted(texts: list[str]) -> list[FragmentBag]:
        embedded.extend(texts)
        return embed(texts)

    monkeypatch.setattr(engine.models.matcher, "embed_sentences", counted)
    assert engine.models.query("a red thing") is first
    assert engine.models.query([("a red thing", 2.0)]) is weighted
    assert weighted.weights == (2.0,)
    assert embedded == []
    assert str(engine.models.query("a red thing " * 10)) == str(long)
    engine.models.query("A red thing")
    assert embedded == ["a red thing " * 10, "A red thing"]
    for _ in range(2):
        with pytest.raises(ValueError, match="no words"):
            engine.models.query("!")


def test_a_served_engine_has_compiled_what_searches_need(
    engine: Engine, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = compile_loop(sums_of_maxima.py_func)
    monkeypatch.setattr(SumOfMax, "kernel", staticmethod(kernel))
    engine.serve()
    versions = list(kernel.signatures)
    put(engine, "default", [Draft("a", sentences=("red",)).with_photo(png("red"))])
    query = engine.models.query("a red thing")
    for side in ("images", "sentences"):
        assert engine.search("default", Request(side, query))[0].hits  # type: ignore[arg-type]
    engine.indexes.close()
    assert versions == kernel.signatures


def test_part_of_a_photo_has_boxes_in_the_whole(engine: Engine, png: Png) -> None:
    photo = decode(png("red", "lime"))
    bag = engine.models.photo(photo, Box(0.5, 0, 1, 1))
    assert bag.places[:2] == (Box(0.5, 0, 1, 1), Box(0.5, 0, 0.75, 0.5))
    assert bag.vectors[0].tolist() == [-1, 1, -1]
    assert len(engine.models.photo(photo, Box(0.5, 0.5, 0.5001, 0.5001))) == 5


def test_a_photo_of_several_items_is_embedded_once(
    engine: Engine, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed, counts = engine.models.matcher.embed_images, list[int]()

    def count(photos: Sequence[torch.Tensor]) -> Sequence[FragmentBag]:
        counts.append(len(photos))
        return embed(photos)

    monkeypatch.setattr(engine.models.matcher, "embed_images", count)
    red, blue = png("red"), png("blue")
    drafts = [Draft("a").with_photos([red, blue]), Draft("b").with_photos([red])]
    first, second = engine.embed(drafts)
    assert counts == [2]
    assert first.images[0] is second.images[0]
    assert first.images[0] is not first.images[1]


def test_one_bad_item_does_not_keep_others_out(engine: Engine) -> None:
    drafts = [Draft("a", sentences=("red",)), Draft("b", sentences=("?",)), Draft("c")]
    reasons = engine.put_each("default", engine.open("default"), drafts)
    assert reasons[0] is None
    assert "no words" in (reasons[1] or "")
    assert "neither a picture nor a sentence" in (reasons[2] or "")


def test_a_bug_in_one_item_does_not_keep_others_out(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    embed = engine.models.matcher.embed_sentences

    def broken(texts: Sequence[str]) -> object:
        if "blue" in texts:
            raise RuntimeError("a bug")
        return embed(texts)

    monkeypatch.setattr(engine.models.matcher, "embed_sentences", broken)
    drafts = [Draft("a", sentences=("red",)), Draft("b", sentences=("blue",))]
    reasons = engine.put_each("default", engine.open("default"), drafts)
    assert reasons == [None, "the service failed on it (RuntimeError); its log says why"]
    assert "a bug" in caplog.text


def test_reembedding_gives_the_bags_that_a_fresh_import_would(engine: Engine, png: Png) -> None:
    photo = png("red", "blue", size=(1500, 900))
    put(engine, "default", [Draft("a", sentences=("red",)).with_photo(photo)])
    before = engine.catalog.entry(engine.open("default"), "a")
    engine.models.fingerprint = "another"
    with pytest.raises(ModelMismatch, match="reembed"):
        engine.open("default")
    engine.reembed("default", lambda done, total: None)
    after = engine.catalog.entry(engine.open("default"), "a")
    assert after.images[0] is not None
    assert before.images[0] is not None
    assert torch.equal(after.images[0].vectors, before.images[0].vectors)
    assert torch.equal(after.bags[0].vectors, before.bags[0].vectors)
    assert after.pictures[0] == before.pictures[0]


def test_empty_collections_of_another_model_are_opened_for_this_one(engine: Engine) -> None:
    put(engine, "full", [Draft("a", sentences=("red",))])
    engine.open("empty", create=True)
    engine.catalog.names.point("alias", "empty")
    engine.models.fingerprint = "another"
    engine.take_empty()
    put(engine, "alias", [Draft("b", sentences=("blue",))])
    assert engine.open("empty").fingerprint == "another"
    with pytest.raises(ModelMismatch):
        engine.open("full")


def test_a_reembedding_rests_for_the_other_share_of_the_time(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(engine, "default", [Draft("a", sentences=("red",))])
    engine.models.fingerprint = "another"
    rests: list[float] = []
    monkeypatch.setattr("app.engine.engine.monotonic", iter((10.0, 12.0)).__next__)
    monkeypatch.setattr("app.engine.engine.sleep", rests.append)
    engine.reembed("default", lambda done, total: None, share=0.25)
    assert rests == [pytest.approx(6.0)]


def test_engines_of_the_former_matcher_read_what_a_reembedding_keeps(engine: Engine) -> None:
    put(engine, "default", [Draft("a", sentences=("red",)), Draft("b", sentences=("blue",))])
    red = Request("sentences", engine.models.query("red"))
    former = copy(engine)
    former.models = copy(engine.models)
    engine.models.fingerprint = "another"
    engine.reembed("default", lambda done, total: None, keep=True)
    put(engine, "default", [Draft("later", sentences=("red",))])
    assert {hit.item for hit in engine.search("default", red)[0].hits} == {"a", "b", "later"}
    assert {hit.item for hit in former.search("default", red)[0].hits} == {"a", "b"}
    assert former.open("default", reading=True).name == f"default@{former.models.fingerprint}"
    with pytest.raises(ModelMismatch):
        put(former, "default", [Draft("lost", sentences=("red",))])
    with pytest.raises(ModelMismatch):
        former.write("default", lambda home: former.catalog.delete(home, "a"))
    engine.catalog.names.drop(f"default@{former.models.fingerprint}")
    with pytest.raises(ModelMismatch):
        former.search("default", red)


def test_what_is_kept_is_not_read_after_a_roll_back_or_a_new_start(engine: Engine) -> None:
    red = Request("sentences", engine.models.query("red"))
    former = copy(engine)
    former.models = copy(engine.models)
    engine.models.fingerprint = "another"
    put(former, "default", [Draft("a", sentences=("red",))])
    engine.reembed("default", lambda done, total: None, keep=True)
    former.reembed("default", lambda done, total: None)
    put(former, "default", [Draft("b", sentences=("red",))])
    engine.reembed("default", lambda done, total: None)
    with pytest.raises(ModelMismatch):
        former.search("default", red)
    engine.catalog.names.drop("default")
    put(engine, "default", [Draft("c", sentences=("red",))])
    with pytest.raises(ModelMismatch):
        former.search("default", red)


def test_engine_loads_from_files_and_does_without_a_captioner(
    small_matcher: Path, tmp_path: Path, png: Png
) -> None:
    engine = Engine.load(
        Settings(matcher=small_matcher, captioner=tmp_path / "none", data=tmp_path)
    )
    put(engine, "default", [Draft("a").with_photo(png("red", size=(200, 100)))])
    hits = engine.search("default", Request("images", engine.models.query("a dog")))[0].hits
    assert [hit.item for hit in hits] == ["a"]
    assert sum(link.similarity for link in hits[0].links) == pytest.approx(hits[0].score, abs=1e-5)
    assert engine.models.captioner is None
    engine.catalog.close()


def test_texts_are_embedded_ahead_even_if_no_word_is_known(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()

    def refuse(texts: list[str]) -> None:
        asked.extend(texts)
        raise ValueError("no known word")

    monkeypatch.setattr(engine.models.matcher, "embed_sentences", refuse)
    engine.models.warm_up()
    assert asked


def test_settings_choose_what_runs_networks_on_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = list[str]()
    monkeypatch.setattr(backbones, "choose_inference", chosen.append)
    monkeypatch.setattr(Models, "load", lambda *_, **options: options["device"])
    Models.of(Settings(inference="openvino"))
    Models.of(Settings(inference="openvino", device="cuda"))
    monkeypatch.delenv("TESSERA_INFERENCE")
    Models.of(Settings())
    assert chosen == ["openvino", "torch", "auto"]
