import numpy as np
import pytest

from training.evaluation.retrieval import similarity

# Two photos with two sentences each; a sentence is always most like itself.
SCORES = np.array(
    [[9, 3, 2, 1], [5, 9, 6, 7], [4, 0, 9, 1], [0, 0, 8, 9]],
    dtype=np.float32,
)


def test_the_mean_rank_of_the_nearest_sentence_of_the_same_photo():
    # Ranks 1 (3 > 2, 1), 3 (5 < 6, 7), 2 (1 < 4), 1 (8 > 0, 0).
    assert similarity(SCORES, [0, 0, 1, 1]).mean_rank == (1 + 3 + 2 + 1) / 4


def test_the_nearest_of_several_counts():
    assert similarity(SCORES, [0, 0, 0, 0]).mean_rank == 1


@pytest.mark.parametrize(
    ("scores", "owners", "message"),
    [
        (SCORES, [0, 0, 1], "expected"),
        (np.full((4, 4), np.nan, np.float32), [0, 0, 1, 1], "NaN"),
        (SCORES, [0, 0, 1, 2], "no true answer"),
    ],
)
def test_what_cannot_be_ranked_is_refused(scores, owners, message):
    with pytest.raises(ValueError, match=message):
        similarity(scores, owners)
