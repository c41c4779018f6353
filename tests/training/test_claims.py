import pytest

from training.claims import CLAIMS, Claim, finding, verdict
from training.systems import SYSTEMS

CLAIM = Claim("trees beat bags", "a paper", "tree", "bag")


def best(annotation: float, search: float) -> dict:
    validation = {"annotation": {"recall_1": annotation}, "search": {"recall_1": search}}
    return {"recall_sum": annotation + search, "validation": validation}


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ([1.0, 0.1], "holds"),
        ([-1.0, -0.1], "does not hold"),
        ([9.0, -0.1], "not clear"),
        ([9.0, 0.0], "not clear"),
        ([1.0], "holds (one seed)"),
        ([-1.0], "does not hold (one seed)"),
    ],
)
def test_a_claim_needs_its_sign_in_every_seed(differences, said):
    assert verdict(differences) == said


def test_differences_are_means_over_the_seeds_that_both_have():
    trees = {0: best(30, 20), 1: best(32, 21), 2: best(90, 90)}
    found = finding(CLAIM, {"tree": trees, "bag": {0: best(29, 20), 1: best(29, 21)}})
    assert found is not None
    assert (found.seeds, found.recall_sum, found.annotation, found.search) == (2, 2, 2, 0)
    assert found.verdict == "holds"


def test_seeds_that_are_not_shared_say_nothing():
    assert finding(CLAIM, {"tree": {0: best(30, 20)}, "bag": {1: best(29, 20)}}) is None
    assert finding(CLAIM, {"tree": {0: best(30, 20)}}) is None


def test_every_claim_compares_two_rows_of_the_table():
    rows = {system.preset for system in SYSTEMS}
    assert all({claim.better, claim.worse} <= rows for claim in CLAIMS)
    assert all(claim.better != claim.worse for claim in CLAIMS)
