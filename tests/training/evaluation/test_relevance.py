import math

import pytest

from training.evaluation.relevance import parse_measure, relevance

JUDGED = {"shirt": {"a": 2.0, "b": 1.0, "c": 0.0}, "shoes": {"d": 1.0}, "hats": {"a": 0.0}}
GOOD = {"shirt": {"a": 3.0, "b": 2.0, "x": 1.0}, "shoes": {"d": 1.0}}
POOR = {"shirt": {"x": 3.0, "b": 2.0, "a": 1.0}}


def test_measures_are_those_worked_by_hand():
    found = {one.measure: one for one in relevance(JUDGED, [POOR])}
    ideal = 2 + 1 / math.log2(3)
    assert found["nDCG@10"].means[0] == pytest.approx((1 / math.log2(3) + 2 / 2) / ideal / 2)
    assert found["P@5"].means == (0.2,)  # 2 of 5, and nothing for shoes
    assert found["R@10"].means == (0.5,)
    assert found["RR@10"].means == (0.25,)
    assert found["P@5"].p is None


def test_two_runs_are_compared_query_by_query():
    ndcg, precision, *_ = relevance(JUDGED, [POOR, GOOD])
    assert ndcg.means[1] == 1.0
    assert (ndcg.better, ndcg.worse) == (2, 0)
    assert (precision.better, precision.worse) == (1, 0)
    assert ndcg.p == 0.5  # of four exchanges of two queries, two differ as much


def test_a_difference_in_every_one_of_many_queries_is_significant():
    judged = {f"q{n}": {"a": 1.0} for n in range(12)}
    worse, better = ({q: {"x": 1.0, "a": rank} for q in judged} for rank in (0.5, 2.0))
    [one] = relevance(judged, [worse, better], ["RR"])
    assert one.p == pytest.approx(2 / 2**12)
    [same] = relevance(judged, [better, better], ["RR"])
    assert same.p is None


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match="no measure 'speed'"):
        relevance(JUDGED, [GOOD], ["speed"])
    with pytest.raises(ValueError, match="nothing to find"):
        relevance({"hats": {"a": 0.0}}, [GOOD])


@pytest.mark.parametrize("grade", [0.5, 1.5, math.inf])
def test_a_grade_between_whole_numbers_is_refused(grade):
    judged = {"shirt": {"a": 2.0, "b": grade}}
    with pytest.raises(ValueError, match=f"grade of 'b' for 'shirt' is {grade}: .*so multiply all"):
        relevance(judged, [GOOD])


@pytest.mark.parametrize("name", ["P@0", "nDCG@0", "Success@0", "Judged@0", "P(rel=0)@5"])
def test_a_cutoff_or_a_grade_below_one_is_no_measure(name):
    with pytest.raises(ValueError, match="is below 1: write one as nDCG@10"):
        parse_measure(name)


@pytest.mark.parametrize("name", ["ERR@20", "alpha_nDCG@5"])
def test_a_measure_of_another_program_is_refused(name):
    with pytest.raises(ValueError, match=r"cannot be computed here: .* such as nDCG@10"):
        parse_measure(name)


@pytest.mark.parametrize("name", ["P@2.5", "R@-1", "RBP(p=0)", "NERR8@3"])
def test_a_measure_of_unfit_options_is_refused(name):
    with pytest.raises(ValueError, match=r"no measure .*: write one as nDCG@10, P@5"):
        parse_measure(name)
