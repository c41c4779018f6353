import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import index.rescorer
import models
from index.rescorer import POSITIVE, Rescorer, Role
from models.alignment import query_links
from models.queries import Query
from models.scoring import SCORES
from models.types import Box, FragmentBag, PaddedBags, Span


def arrays(bags):
    vectors = np.concatenate([bag.numpy() for bag in bags])
    offsets = np.cumsum([0, *(len(bag) for bag in bags)])
    return vectors, offsets, np.arange(len(bags))


def bags_of(sizes, dimension, seed):
    make = torch.Generator().manual_seed(seed)
    return [torch.randn(size, dimension, generator=make) for size in sizes]


SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def test_every_score_has_a_kernel():
    assert POSITIVE.keys() == SCORES.keys()


def test_unknown_score_is_answered_with_the_known_ones():
    with pytest.raises(LookupError, match="no kernel for score 'x'; there are: sum_of_max"):
        Rescorer("x")


@pytest.mark.parametrize("score", SCORES)
@given(SIZES, st.integers(1, 9), st.integers(1, 33), st.integers(0, 99))
def test_kernels_agree_with_the_model_in_both_directions(score, sizes, T, D, seed):
    rows, query = bags_of(sizes, D, seed), bags_of([T], D, seed + 1)
    stored, asked = PaddedBags.of(rows), PaddedBags.of(query)
    rescorer = Rescorer(score)
    for role, truth in (
        (Role.QUERY_IS_SENTENCE, SCORES[score](stored, asked)[:, 0]),
        (Role.ROWS_ARE_SENTENCES, SCORES[score](asked, stored)[0]),
    ):
        scores = rescorer.exact(*arrays(rows), query[0].numpy(), role)
        np.testing.assert_allclose(scores, truth.numpy(), rtol=1e-5, atol=1e-4)


def test_score_by_hand_sums_over_the_sentence():
    rows = [torch.tensor([[1.0, 0.0], [0.0, -2.0]])]
    query = np.array([[3.0, 1.0], [-1.0, 0.5], [0.0, 0.0]], np.float32)
    rescorer = Rescorer("sum_of_max")
    # Products by row fragment: (3, -1, 0) and (-2, -1, 0).
    assert rescorer.exact(*arrays(rows), query, Role.QUERY_IS_SENTENCE).tolist() == [2.0]
    assert rescorer.exact(*arrays(rows), query, Role.ROWS_ARE_SENTENCES).tolist() == [3.0]


@pytest.mark.parametrize("score", SCORES)
def test_no_fragment_of_a_negated_query_counts_less_than_0(score):
    rows, query = bags_of([2, 4, 1], 8, 1), bags_of([5], 8, 2)[0]
    rescorer = Rescorer(score)
    found = rescorer.exact(*arrays(rows), query.numpy(), Role.QUERY_IS_SENTENCE, negated=True)
    part = FragmentBag(query, (Span(0, 1),) * 5, ("a",) * 5)
    for row, total in zip(rows, found, strict=True):
        image = FragmentBag(row, (Box(0, 0, 1, 1),) * len(row), ("r",) * len(row))
        links = query_links(image, Query((part,), (-1.0,)), score)
        assert -sum(link.similarity for link in links) == pytest.approx(total, abs=1e-4)


def test_only_chosen_rows_are_scored_in_their_order():
    rows = bags_of([2, 5, 1, 3], 8, 1)
    vectors, offsets, every = arrays(rows)
    query = bags_of([4], 8, 2)[0].numpy()
    rescorer = Rescorer("sum_of_max")
    scores = rescorer.exact(vectors, offsets, every, query, Role.QUERY_IS_SENTENCE)
    some = np.array([3, 0])
    chosen = rescorer.exact(vectors, offsets, some, query, Role.QUERY_IS_SENTENCE)
    assert chosen.tolist() == scores[some].tolist()
    assert rescorer.exact(vectors, offsets, every[:0], query, Role.QUERY_IS_SENTENCE).size == 0


def test_threads_share_rows_out_without_changing_a_score():
    rows = bags_of([1, 2, 3] * 700, 8, 1)
    query = bags_of([5], 8, 2)[0].numpy()
    one, many = (
        Rescorer("sum_of_max", threads).exact(*arrays(rows), query, Role.ROWS_ARE_SENTENCES)
        for threads in (1, 3)
    )
    assert one.tolist() == many.tolist()


def test_codes_score_each_fragment_as_its_centroid():
    rows = bags_of([2, 3], 8, 1)
    vectors, offsets, every = arrays(rows)
    query = bags_of([3], 8, 2)[0].numpy()
    rescorer = Rescorer("sum_of_max")
    for role in Role:
        coded = rescorer.coded(
            np.arange(5, dtype=np.uint16), offsets, every, vectors @ query.T, role
        )
        exact = rescorer.exact(vectors, offsets, every, query, role)
        np.testing.assert_allclose(coded, exact, rtol=1e-5)


def test_kernels_compile_where_no_folder_can_be_written(tmp_path):
    package = tmp_path / "index"
    package.mkdir()
    shutil.copy(index.rescorer.__file__, package / "rescorer.py")
    shutil.copytree(Path(models.__file__).parent, tmp_path / "models")
    # A file where the cache folder would be is unwritable for every user, root included.
    (package / "__pycache__").write_text("")
    (tmp_path / "cache").write_text("")
    subprocess.run(
        [sys.executable, "-c", "from index.rescorer import Rescorer; Rescorer('sum_of_max')"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "cache" / "none")},
        check=True,
        timeout=60,
    )
    assert Path(package / "__pycache__").is_file()
