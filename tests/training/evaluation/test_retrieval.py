import numpy as np
import pytest

from training.evaluation.retrieval import (
    find_ranks,
    rank_first_sentences,
    rank_pairs,
    retrieval,
    similarity,
)

# Two images of two sentences each: owners [0, 0, 1, 1].
OWNERS = [0, 0, 1, 1]
TABLE = [
    # scores, annotation ranks, search ranks
    ([[9, 8, 1, 2], [1, 2, 9, 8]], [1, 1], [1, 1, 1, 1]),
    ([[1, 8, 2, 3], [1, 2, 9, 8]], [1, 1], [2, 1, 1, 1]),  # the best own sentence counts
    ([[1, 2, 9, 8], [9, 8, 1, 2]], [3, 3], [2, 2, 2, 2]),
    ([[9, 1, 9, 0], [5, 0, 6, 7]], [2, 1], [1, 1, 2, 1]),  # a tie is lost
    ([[0, 0, 0, 0], [0, 0, 0, 0]], [3, 3], [2, 2, 2, 2]),  # all equal is worst
    ([[-np.inf] * 4, [-np.inf] * 4], [3, 3], [2, 2, 2, 2]),
]


@pytest.mark.parametrize(("scores", "annotation", "search"), TABLE)
def test_ranks_are_those_worked_by_hand(scores, annotation, search):
    scores = np.asarray(scores, dtype=np.float32)
    true = np.arange(2)[:, None] == np.asarray(OWNERS)[None]
    assert find_ranks(scores, true).tolist() == annotation
    assert find_ranks(scores.T, true.T).tolist() == search
    measured = retrieval(scores, OWNERS)
    assert measured.annotation.mean_rank == np.mean(annotation)
    assert measured.search.mean_rank == np.mean(search)


def test_recalls_are_percentages_of_queries_by_their_rank():
    # Sentence l's image has rank l + 1 among twelve.
    K = 12
    scores = np.where(np.arange(K)[:, None] < np.arange(K)[None], 2.0, 0.0).astype(np.float32)
    scores += np.eye(K, dtype=np.float32)
    search = retrieval(scores, range(K)).search
    assert (search.recall_1, search.recall_5, search.recall_10) == pytest.approx(
        (100 / 12, 500 / 12, 1000 / 12)
    )
    assert (search.median_rank, search.mean_rank) == (6.5, 6.5)


def test_a_perfect_model_has_a_recall_sum_of_600():
    assert retrieval(np.eye(3, dtype=np.float32), [0, 1, 2]).recall_sum == 600


def test_nan_is_refused():
    scores = np.eye(3, dtype=np.float32)
    scores[1, 2] = np.nan
    with pytest.raises(ValueError, match="1 of the scores are NaN"):
        retrieval(scores, [0, 1, 2])


def test_scores_and_owners_must_agree():
    with pytest.raises(ValueError, match="for 2 sentences"):
        retrieval(np.eye(3, dtype=np.float32), [0, 1])


def test_an_image_without_a_sentence_is_refused():
    with pytest.raises(ValueError, match="1 queries have no true answer, the first is 2"):
        retrieval(np.eye(3, dtype=np.float32), [0, 1, 1])


def test_the_starred_protocol_keeps_the_first_sentence_of_each_image_alone():
    scores = np.array([[1, 8, 2, 9], [3, 0, 1, 9]], dtype=np.float32)
    found = rank_first_sentences(scores, OWNERS)
    assert found == retrieval(scores[:, [0, 2]], [0, 1])
    assert (found.annotation.mean_rank, found.search.mean_rank) == (2, 2)


def test_a_sentence_of_two_images_is_answered_by_either():
    scores = np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 2.0]], dtype=np.float32)
    true = np.array([[True, False], [True, False], [False, True]])
    assert rank_pairs(scores, true).search.recall_1 == 100
    assert rank_pairs(scores, true).annotation.recall_1 == 100
    assert rank_pairs(scores[::-1], true).search.median_rank == 2.5  # second and third


# Two photos with two sentences each; a sentence is always most like itself.
OF_SENTENCES = np.array(
    [[9, 3, 2, 1], [5, 9, 6, 7], [4, 0, 9, 1], [0, 0, 8, 9]],
    dtype=np.float32,
)


def test_the_mean_rank_of_the_nearest_sentence_of_the_same_photo():
    # Ranks 1 (3 > 2, 1), 3 (5 < 6, 7), 2 (1 < 4), 1 (8 > 0, 0).
    assert similarity(OF_SENTENCES, [0, 0, 1, 1]).mean_rank == (1 + 3 + 2 + 1) / 4


def test_the_nearest_of_several_counts():
    assert similarity(OF_SENTENCES, [0, 0, 0, 0]).mean_rank == 1


@pytest.mark.parametrize(
    ("scores", "owners", "message"),
    [
        (OF_SENTENCES, [0, 0, 1], "expected"),
        (np.full((4, 4), np.nan, np.float32), [0, 0, 1, 1], "NaN"),
        (OF_SENTENCES, [0, 0, 1, 2], "no true answer"),
    ],
)
def test_what_cannot_be_ranked_is_refused(scores, owners, message):
    with pytest.raises(ValueError, match=message):
        similarity(scores, owners)
