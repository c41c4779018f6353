import pytest

from training.report.claims import (
    NOT_JUDGED,
    RANKS,
    SIMILARITY,
    SOLVED,
    Claim,
    Difference,
    check_claim,
    verdict,
)
from training.report.papers import CLAIMS, PAPERS
from training.report.systems import SYSTEMS

RECALLS = Claim("trees beat bags", "a paper", "tree", "bag")
BY_RANKS = Claim("trees beat bags", "Socher et al. 2014", "tree", "bag", RANKS)


def result(recall: float, rank: float) -> dict:
    way = {"recall_1": recall, "recall_5": 0.0, "recall_10": 0.0, "mean_rank": rank}
    return {"annotation": way, "search": {**way, "recall_1": 0.0}}


def test_an_interval_is_student_s():
    difference = Difference.of([1.0, 2.0, 3.0])
    assert difference.mean == 2
    assert difference.half == pytest.approx(4.303 * 1 / 3**0.5, abs=1e-3)
    assert Difference.of([4.0]) == Difference(4.0, None)


@pytest.mark.parametrize(
    ("mean", "half", "seeds", "said"),
    [
        (1.0, 0.9, 3, "holds"),
        (-1.0, 0.9, 3, "does not hold"),
        (1.0, 1.1, 3, "not clear"),
        (-1.0, 1.1, 3, "not clear"),
        (1.0, None, 1, "ahead (one seed)"),
        (-1.0, None, 1, "behind (one seed)"),
        (1.0, None, 0, "holds"),
        (0.0, None, 1, "not clear"),
    ],
)
def test_a_claim_needs_an_interval_without_zero(mean, half, seeds, said):
    assert verdict(Difference(mean, half), seeds) == said


def test_differences_are_paired_over_the_seeds_that_both_have():
    trees = {0: result(30, 9), 1: result(32, 8), 2: result(90, 1)}
    found = check_claim(RECALLS, {"tree": trees, "bag": {0: result(29, 8), 1: result(30, 7)}})
    assert found is not None
    assert (found.seeds, found.recall_sum.mean, found.ranks.mean) == (2, 1.5, -1)
    assert found.verdict == "not clear"  # 1.5 ± 12.7 · 0.71 / 1.41


def test_a_paper_that_compares_mean_ranks_is_judged_by_them():
    trees = {0: result(30, 7), 1: result(30, 7)}
    bags = {0: result(32, 9), 1: result(32, 9)}
    by_ranks = check_claim(BY_RANKS, {"tree": trees, "bag": bags})
    by_recalls = check_claim(RECALLS, {"tree": trees, "bag": bags})
    assert by_ranks is not None
    assert by_recalls is not None
    assert (by_ranks.verdict, by_recalls.verdict) == ("holds", "does not hold")


def test_what_is_solved_for_is_compared_with_every_seed_and_counts_once_alone():
    bags = {0: result(29, 8), 1: result(30, 8)}
    found = check_claim(RECALLS, {"tree": {SOLVED: result(33, 9)}, "bag": bags})
    assert found is not None
    assert (found.seeds, found.recall_sum.mean) == (2, 3.5)
    alone = check_claim(RECALLS, {"tree": {SOLVED: result(33, 9)}, "bag": {SOLVED: result(30, 9)}})
    assert alone is not None
    assert (alone.seeds, alone.recall_sum, alone.verdict) == (0, Difference(3.0, None), "holds")


def test_seeds_that_are_not_shared_say_nothing():
    assert check_claim(RECALLS, {"tree": {0: result(30, 9)}, "bag": {1: result(29, 9)}}) is None
    assert check_claim(RECALLS, {"tree": {0: result(30, 9)}}) is None


def test_sentences_of_one_photo_are_compared_where_both_runs_have_them():
    claim = Claim("trees beat bags", "a paper", "tree", "bag", SIMILARITY)
    near, far = ({**result(30, 9), SIMILARITY: {"mean_rank": rank}} for rank in (4.0, 6.0))
    found = check_claim(claim, {"tree": {0: near, 1: near}, "bag": {0: far, 1: far}})
    assert found is not None
    assert (found.ranks.mean, found.verdict) == (2.0, "holds")
    unmeasured = result(30, 9) | {SIMILARITY: None}
    assert check_claim(claim, {"tree": {0: near}, "bag": {0: unmeasured}}) is None


def test_presets_that_are_not_the_paper_s_give_no_verdict():
    runs = {"tree": {0: result(30, 9), 1: result(31, 9)}, "bag": {0: result(2, 9), 1: result(3, 9)}}
    found = check_claim(Claim("trees beat bags", "a paper", "tree", "bag", unlike="no trees"), runs)
    assert found is not None
    assert (found.recall_sum.mean, found.verdict, found.condition) == (28, NOT_JUDGED, "no trees")


@pytest.mark.parametrize(
    ("values", "judged"),
    [
        ([2.0, 0.9, 0.7], "holds"),
        ([3.1, 3.4, 3.6], NOT_JUDGED),  # it rose
        ([3.9, 3.0, 2.4], NOT_JUDGED),  # it fell, and is worse than scores of zero
        ([], NOT_JUDGED),  # no one stored it
    ],
)
def test_a_term_that_was_not_minimised_gives_no_verdict(values, judged):
    curve = [{"terms": {"fragments": value}} for value in values]
    better = {**result(30, 9), "objectives": ["fragments", "ranking"], "curve": curve}
    worse = {**result(20, 9), "objectives": ["ranking"], "curve": []}
    claim = Claim("both beat one", "a paper", "both", "one", needs="fragments")
    runs = {"both": {0: better, 1: better}, "one": {0: worse, 1: worse}}
    found = check_claim(claim, runs)
    assert found is not None
    assert found.verdict == judged


def test_every_claim_is_of_a_paper_of_the_page():
    assert {claim.paper for claim in CLAIMS} <= {paper.name for paper in PAPERS}


def test_every_claim_compares_two_rows_of_the_table():
    rows = {system.preset for system in SYSTEMS}
    assert all({claim.better, claim.worse} <= rows for claim in CLAIMS)
    assert all(claim.better != claim.worse for claim in CLAIMS)
