"""Retrievers score as their own MaxSim, with boxes for their patches."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from benchmarks.models import tiny_retrievers
from models import checkpoint
from models.encoders.pooling import PatchBag, pool
from models.matcher import TwoTowerMatcher
from models.scores.scoring import SCORES
from models.types import WHOLE_FRAME, WHOLE_SENTENCE, FragmentBag, PaddedBags
from tests import encoders
from training.encoders import adopt as adopting

FAMILIES = tuple(tiny_retrievers.MAKERS)
TEXTS = ["a red circle", "two   cats, and a dog in a park"]
SIZES = [(40, 60), (90, 50)]


def draw(seed: int, height: int, width: int) -> Tensor:
    made = torch.Generator().manual_seed(seed)
    return torch.randint(0, 255, (3, height, width), dtype=torch.uint8, generator=made)


PHOTOS = [draw(seed, *size) for seed, size in enumerate(SIZES)]


def show(photo: Tensor) -> Image.Image:
    return Image.fromarray(photo.permute(1, 2, 0).numpy())


def adopt(folder: Path, out: Path, **choice: Any) -> TwoTowerMatcher:
    adopting.adopt(folder, out, adopting.Choice(**choice), "mit", "tiny")
    model = checkpoint.load(out).model
    assert isinstance(model, TwoTowerMatcher)
    return model


@cache
def matcher(family: str) -> TwoTowerMatcher:
    folder = encoders.retriever(family)
    return adopt(folder, folder.parent / f"{family}.safetensors")


@cache
def calm(family: str) -> TwoTowerMatcher:
    """A retriever with little attention: a patch's vector is mostly its own."""
    folder = encoders.retriever(family).parent / "calm"
    tiny_retrievers.make(family, folder, encoders.TEXTS, spread=0.05)
    return adopt(folder, folder.parent / "calm.safetensors")


def score(images: list[FragmentBag], sentences: list[FragmentBag]) -> Tensor:
    padded = (PaddedBags.of([bag.vectors for bag in bags]) for bags in (images, sentences))
    return SCORES["max_sim"](*padded)


def official(model: TwoTowerMatcher, photos: list[Tensor], texts: list[str]) -> Tensor:
    """MaxSim by transformers' own processor and network, (K, L)."""
    retriever: Any = model.image.sight.retriever
    processor = retriever.processor
    made = processor.process_images(images=[show(photo) for photo in photos])
    made.pop("labels", None)
    asked = processor.process_queries(text=[" ".join(text.split()) for text in texts])
    asked.pop("labels", None)
    with torch.inference_mode():
        seen, read = (retriever.network(**inputs).embeddings for inputs in (made, asked))
    scores: Tensor = processor.score_retrieval(list(read), list(seen))
    return scores.T


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_the_retrievers_own_maxsim(family: str) -> None:
    model = matcher(family)
    scores = score(model.embed_images(PHOTOS), model.embed_sentences(TEXTS))
    torch.testing.assert_close(scores, official(model, PHOTOS, TEXTS), atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_links_of_tokens_add_up_to_the_score(family: str) -> None:
    model = matcher(family)
    (image, _), (text, _) = model.embed_images(PHOTOS), model.embed_sentences(TEXTS)
    links = SCORES["max_sim"].links(image, text)
    assert len(links) == len(text)
    assert all(link.whole is None for link in links)
    added = sum(link.similarity for link in links)
    assert added == pytest.approx(float(score([image], [text])), abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_have_their_places_in_the_text_and_marks_have_all_of_it(family: str) -> None:
    (bag,) = matcher(family).embed_sentences([TEXTS[1]])
    marks = [label == WHOLE_SENTENCE for label in bag.labels]
    assert marks == sorted(marks)
    assert sum(marks) >= 10  # those behind the text
    words = bag.labels[: marks.index(True)]
    assert "".join(words) == "twocats,andadoginapark"
    assert [place.of(TEXTS[1]) for place in bag.places[: len(words)]] == list(words)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("corner", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_a_changed_corner_changes_the_patches_there_most(
    family: str, corner: tuple[int, int]
) -> None:
    model, photo = calm(family), torch.full((3, 96, 96), 128, dtype=torch.uint8)
    changed = photo.clone()
    top, left = (72 * at for at in corner)
    changed[:, top : top + 24, left : left + 24] = draw(1, 24, 24)
    before, after = model.embed_images([photo, changed])
    moved = (after.vectors - before.vectors).norm(dim=1)
    patches = [at for at, box in enumerate(before.places) if box != WHOLE_FRAME]
    box = before.places[max(patches, key=lambda at: float(moved[at]))]
    assert (box.top + box.bottom > 1, box.left + box.right > 1) == tuple(map(bool, corner))


@pytest.mark.parametrize("family", FAMILIES)
def test_patches_cover_the_photo(family: str) -> None:
    for bag in matcher(family).embed_images(PHOTOS):
        area = sum(box.area for box in bag.places if box != WHOLE_FRAME)
        seen_whole_too = 1 if family == "colmodernvbert" else 0
        assert area == pytest.approx(1 + seen_whole_too, abs=1e-5)


def test_both_towers_have_the_weights_in_memory_once() -> None:
    model = matcher("colpali")
    assert model.image.sight.retriever is model.text.reader.retriever  # type: ignore[comparison-overlap]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(encoders.retriever("colpali"), tmp_path / "colpali"))


def test_a_folder_of_sentence_transformers_keeps_the_patches_that_it_scores(
    folder: Path, tmp_path: Path
) -> None:
    token = matcher("colpali").image.sight.retriever.processor.image_token_id  # type: ignore[union-attr]
    tiny_retrievers.add_modules(folder, keep_only_token_ids=[token], skiplist_words=["<bos>"])
    model = adopt(folder, tmp_path / "x.safetensors")
    (image, _), texts = model.embed_images(PHOTOS), model.embed_sentences(TEXTS)
    assert len(image) == 16
    assert WHOLE_FRAME not in image.places
    assert image.labels[0] == "region 0"
    (whole, _) = matcher("colpali").embed_images(PHOTOS)
    torch.testing.assert_close(image.vectors, whole.vectors[-16:])
    assert [len(text) for text in texts] == [
        len(text) for text in matcher("colpali").embed_sentences(TEXTS)
    ]  # words to skip are those of documents


@pytest.mark.parametrize("family", ["colpali", "colqwen2"])
def test_scores_are_those_of_sentence_transformers(family: str, tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    folder = Path(shutil.copytree(encoders.retriever(family), tmp_path / family))
    tiny_retrievers.add_modules(folder, skiplist_words=["."])
    model = adopt(folder, tmp_path / "x.safetensors")
    reference = library.MultiVectorEncoder(str(folder), device="cpu")
    texts = [" ".join(text.split()) for text in TEXTS]
    asked = reference.encode_query(texts, show_progress_bar=False)
    seen = reference.encode_document([show(photo) for photo in PHOTOS], show_progress_bar=False)
    scores = score(model.embed_images(PHOTOS), model.embed_sentences(TEXTS))
    expected = reference.similarity(asked, seen).T
    torch.testing.assert_close(scores, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("kind", "prompts", "mistake"),
    [
        ("sentence_transformers.base.modules.dense.Dense", {}, "has the module Dense"),
        (tiny_retrievers.MASK, {"query": "search: "}, "puts the prompt 'search: ' before texts"),
    ],
)
def test_what_is_not_computed_here_is_refused(
    folder: Path, tmp_path: Path, kind: str, prompts: dict[str, str], mistake: str
) -> None:
    tiny_retrievers.add_modules(folder, last=kind, prompts=prompts)
    with pytest.raises(ValueError, match=mistake):
        adopt(folder, tmp_path / "x.safetensors")


def test_an_encoder_of_texts_alone_is_refused_with_the_reason(folder: Path, tmp_path: Path) -> None:
    tiny_retrievers.add_modules(folder)
    (folder / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ValueError, match="vectors are of texts alone, and photos need some too"):
        adopt(folder, tmp_path / "x.safetensors")


def test_a_changed_list_of_modules_is_refused_when_it_is_loaded(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "x.safetensors"
    adopt(folder, out)
    tiny_retrievers.add_modules(folder)
    with pytest.raises(ValueError, match=r"modules\.json.* were not there when it was adopted"):
        checkpoint.load(out)


def test_options_of_boxes_are_refused_for_retrievers_and_pooling_for_others(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="use --pool, and leave --lambda"):
        adopt(encoders.retriever("colpali"), tmp_path / "x.safetensors", regions=0.5)
    with pytest.raises(ValueError, match="--pool is for retrievers"):
        adopt(encoders.folder("clip"), tmp_path / "x.safetensors", pool=2)


def test_pooled_patches_are_means_of_like_ones_with_the_box_around() -> None:
    vectors = torch.nn.functional.normalize(
        torch.tensor([[1, 0.0], [1, 0.1], [0, 1], [0.1, 1]]), dim=1
    )
    boxes = torch.tensor([[0, 0, 0.5, 0.5], [0.5, 0, 1, 0.5], [0, 0.5, 0.5, 1], [0.5, 0.5, 1, 1]])
    pooled = pool(PatchBag(vectors, boxes), 2)
    order = pooled.vectors[:, 0].argsort(descending=True)
    means = torch.stack([vectors[:2].mean(0), vectors[2:].mean(0)])
    torch.testing.assert_close(pooled.vectors[order], torch.nn.functional.normalize(means, dim=1))
    assert pooled.boxes[order].tolist() == [[0, 0, 1, 0.5], [0, 0.5, 1, 1]]
    assert pool(PatchBag(vectors, boxes), 1).vectors is vectors


def test_pooling_divides_the_patches_and_keeps_the_prompt(tmp_path: Path) -> None:
    pooled = adopt(encoders.retriever("colpali"), tmp_path / "x.safetensors", pool=4)
    (few,), (all_,) = pooled.embed_images(PHOTOS[:1]), matcher("colpali").embed_images(PHOTOS[:1])
    prompt = all_.places.count(WHOLE_FRAME)
    assert len(all_) == prompt + 16
    assert len(few) == prompt + 4
    torch.testing.assert_close(few.vectors[:prompt], all_.vectors[:prompt])
    assert np.allclose(few.vectors.norm(dim=1), 1, atol=1e-5)
