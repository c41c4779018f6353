"""Relevance of search results against judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import ir_measures
import numpy as np
from ir_measures.measures import Measure
from ir_measures.providers import Provider
from scipy import stats

Values = Mapping[str, Mapping[str, float]]  # of items, by query
MEASURES = ("nDCG@10", "P@5", "R@10", "RR@10")
RESAMPLES = 9_999


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure of one or two runs, over queries.

    A mean, as a fraction.

    `p` is the probability of a difference as large as this one if both runs were equally good. It
    is None for one run, or without any difference.
    """

    measure: str
    means: tuple[float, ...]
    better: int = 0  # queries that the second run answers better, and worse
    worse: int = 0
    p: float | None = None


def relevance(
    judgements: Values, runs: Sequence[Values], measures: Sequence[str] = MEASURES
) -> list[Comparison]:
    """Compute measures over queries with an answer; absent queries count 0.

    `measures` are those of ir_measures, by name. Unjudged items are no answers.
    ValueError for an unknown measure, for a grade between whole numbers, or if no query has an
    item with a grade above 0.

    >>> judged = {"shirt": {"a": 1, "b": 0}, "shoes": {"c": 1}}
    >>> runs = {"shirt": {"a": 1.0, "b": 2.0}}, {"shirt": {"a": 2.0}, "shoes": {"c": 1.0}}
    >>> [comparison] = relevance(judged, runs, ["RR"])
    >>> comparison.means, comparison.better, comparison.worse
    ((0.25, 1.0), 2, 0)
    """
    answered = {query: grades for query, grades in judgements.items() if max(grades.values()) > 0}
    if not answered:
        raise ValueError("no judgement has a grade above 0, so there is nothing to find")
    refuse_fractions(answered)
    parsed = {name: parse_measure(name) for name in measures}
    values = [measure_queries(answered, run, list(parsed.values())) for run in runs]
    return [
        compare(name, [run_values[str(metric)] for run_values in values])
        for name, metric in parsed.items()
    ]


def refuse_fractions(judgements: Values) -> None:
    """Raise ValueError for a grade between whole numbers; it names the item."""
    for query, graded in judgements.items():
        for item, grade in graded.items():
            if not float(grade).is_integer():
                raise ValueError(
                    f"the grade of {item!r} for {query!r} is {grade:g}: grades are whole numbers, "
                    "so multiply all of them"
                )


def parse_measure(name: str) -> Measure:
    """Parse a measure's name; ValueError shows examples."""
    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
    except (NameError, SyntaxError, ValueError, AssertionError) as unknown:
        raise ValueError(f"no measure {name!r}: write one as {', '.join(MEASURES)}") from unknown
    for option in ("cutoff", "rel"):  # trec_eval aborts Python for less than 1
        if measure.params.get(option, 1) < 1:
            raise ValueError(f"the {option} of {name} is below 1: write one as {MEASURES[0]}")
    if not any(each.supports(measure) for each in _list_providers()):
        raise ValueError(
            f"{name} cannot be computed here: it needs a program besides ir_measures; "
            f"write another one, such as {', '.join(MEASURES)}"
        )
    return measure


def _list_providers() -> list[Provider]:
    """List the providers of measures but gdeval, a script for Perl."""
    providers: list[Provider] = ir_measures.DefaultPipeline.providers
    return [each for each in providers if each.is_available() and each.NAME != "gdeval"]


def measure_queries(
    judgements: Values, run: Values, measures: Sequence[Measure]
) -> dict[str, dict[str, float]]:
    """The value of each query, 0 without an answer, by measure."""
    grades = {
        query: {item: int(g) for item, g in graded.items()} for query, graded in judgements.items()
    }
    ranked = {query: dict(run.get(query, {})) for query in grades}
    values = {str(metric): dict.fromkeys(grades, 0.0) for metric in measures}
    for result in ir_measures.iter_calc(measures, grades, ranked):
        values[str(result.measure)][result.query_id] = result.value
    return values


def compare(measure: str, values: Sequence[Mapping[str, float]]) -> Comparison:
    """Compute the means of runs, and the difference of two."""
    means = tuple(mean(query_values.values()) for query_values in values)
    if len(values) < 2:
        return Comparison(measure, means)
    differences = np.array([values[1][query] - values[0][query] for query in values[0]])
    return Comparison(
        measure,
        means,
        int((differences > 0).sum()),
        int((differences < 0).sum()),
        test_by_randomization(differences),
    )


def test_by_randomization(differences: np.typing.NDArray[np.float64]) -> float | None:
    """Compute the two-sided p of Fisher's randomization test.

    Each query's two results may change places. The test that Smucker, Allan & Carterette 2007
    recommend for means over queries: it assumes no distribution. Exact up to 13 queries, else by
    9,999 draws that are the same every time.
    """
    if not differences.any() or len(differences) < 2:
        return None
    tested = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(0),
    )
    return float(tested.pvalue)
