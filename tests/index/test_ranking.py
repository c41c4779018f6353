import pytest
import torch

from index.search import Index
from models.calibration import Calibration, Kind
from models.queries import Query
from models.scoring import sum_of_max
from models.types import PaddedBags


@pytest.fixture
def calibration(random):
    photos, sentences = torch.randn(5, 8, generator=random), torch.randn(4, 8, generator=random)
    coefficients = torch.tensor(
        [[0.5, -0.3, 0.2, 0.1], [0.3, -0.2, 0.0, 0.1], [0.4, 0.1, -0.3, 0.2]]
    )
    return Calibration(photos, sentences, coefficients, 0.5)


@pytest.fixture
def filled(catalog, collection, entry):
    entries = [entry(f"{i:02}") for i in range(30)]
    catalog.put_many(collection, entries)
    return {one.id: one for one in entries}


@pytest.fixture
def index(catalog, collection, calibration, filled, tmp_path):
    return Index(catalog, collection, tmp_path, calibration=calibration)


def expected(calibration, kind, image, sentence):
    score = sum_of_max(PaddedBags.of([image.vectors]), PaddedBags.of([sentence.vectors]))[0]
    sums, size = sentence.vectors.sum(0, keepdim=True), torch.tensor([len(sentence)])
    return float(calibration.probabilities(kind, score, sums, size))


def test_every_hit_has_the_probability_of_its_pair(
    index, calibration, filled, sentence_bag, image_bag
):
    text, photo = sentence_bag(3), image_bag(4)
    told = index.search_images(Query.of(text), limit=100)
    assert len(told) == 30
    for hit in told:
        pair = filled[hit.item].image, text
        assert hit.probability == pytest.approx(
            expected(calibration, Kind.TEXT_IN_PHOTO, *pair), abs=1e-5
        )
    for hit in index.search_sentences(Query.of(photo), limit=100):
        pair = photo, filled[hit.item].bags[hit.position]
        assert hit.probability == pytest.approx(
            expected(calibration, Kind.TEXT_IN_PHOTO, *pair), abs=1e-5
        )
    for hit in index.similar_sentences(Query.of(text), limit=100):
        pair = filled[hit.item].bags[hit.position], text
        assert hit.probability == pytest.approx(
            expected(calibration, Kind.TEXT_IN_TEXT, *pair), abs=1e-5
        )
    for hit in index.search_images(Query.of(photo), limit=100):
        pair = filled[hit.item].image, photo
        assert hit.probability == pytest.approx(
            expected(calibration, Kind.PHOTO_IN_PHOTO, *pair), abs=1e-5
        )


def test_pages_of_probable_hits_follow_on_in_the_order_of_scores(index, image_bag):
    query = Query.of(image_bag(4))
    whole = index.search_sentences(query, limit=100)
    least = sorted(hit.probability for hit in whole)[len(whole) // 2]
    probable = [hit for hit in whole if hit.probability >= least]
    assert [hit.score for hit in probable] == sorted((hit.score for hit in probable), reverse=True)
    assert any(hit.probability < least for hit in whole[: len(probable)])  # not the same order
    pages = [
        index.search_sentences(query, limit=10, offset=offset, least=least)
        for offset in range(0, len(probable) + 10, 10)
    ]
    names = [(hit.item, hit.position) for page in pages for hit in page]
    assert names == [(hit.item, hit.position) for hit in probable]


def test_a_least_probability_needs_a_calibration(catalog, collection, tmp_path, sentence_bag):
    index = Index(catalog, collection, tmp_path)
    with pytest.raises(ValueError, match="tessera calibrate"):
        index.search_images(Query.of(sentence_bag()), limit=1, least=0.5)
