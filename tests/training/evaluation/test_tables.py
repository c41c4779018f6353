import io

from rich.console import Console

from training.evaluation import tables
from training.evaluation.categories import CategorySearch
from training.evaluation.faithfulness import Faithfulness
from training.evaluation.localisation import Localisation
from training.evaluation.measure import MatcherMeasures
from training.evaluation.occlusion import Occlusion
from training.evaluation.open_world import OpenWorld
from training.evaluation.outstanding_parts import Magnitude
from training.evaluation.queries import QuerySearch, RankedAnswer
from training.evaluation.retrieval import Direction, Retrieval

ONE = Direction(10.0, 20.0, 30.0, 4.5, 5.5)
TWO = Direction(1.0, 2.0, 3.0, 40.0, 55.0)
LINKS = Faithfulness(linked=2.0, lost=0.5, share=25.0, gap=1e-6, pairs=7)
REGIONS = Occlusion(
    regions=8,
    linked=8.4,
    added=3.7,
    removed=0.35,
    removed_correlation=0.98,
    greyed=4.5,
    greyed_correlation=None,
    elsewhere=0.6,
)
BOXES = Localisation(11.0, 22.0, 33.0, 44.0, 55.0, 6.5, 1234)


def printed(table):
    file = io.StringIO()
    Console(file=file, width=120).print(table)
    return " ".join(file.getvalue().split())


def test_every_measurement_is_shown():
    text = printed(
        tables.format_metrics(
            MatcherMeasures(
                3, 9, Retrieval(ONE, TWO), Retrieval(TWO, ONE), ONE, BOXES, LINKS, 2, REGIONS
            )
        )
    )
    assert "image → text (*) │ 1.0 │ 2.0 │ 3.0 │ 40 │ 55.0" in text
    assert "text → text │ 10.0 │ 20.0 │ 30.0 │ 4.5 │ 5.5" in text
    assert "11.0 / 22.0 / 33.0 (at most 55.0) 44.0 % pointed at, mAP 6.5" in text
    assert "loses 0.500 of its score, 25 % of those links" in text
    assert "8 regions, one a photo: links of 8.400, of which the region adds 3.700" in text
    assert "lose 0.350, correlation with what it adds 0.98" in text
    assert "grey 4.500, correlation –; with a box elsewhere grey 0.600" in text


def test_what_was_not_measured_is_not_shown():
    both = Retrieval(ONE, TWO)
    text = printed(tables.format_metrics(MatcherMeasures(3, 3, both, both, None, None, None, 2)))
    assert "text → text" not in text
    assert "pointed" not in text
    assert "links" not in text


def test_searches_show_their_fields_and_the_queries_that_are_wrong():
    kinds = CategorySearch("kind", 2936, 40, 3, 12.25, 30.0, 22.5, 2.3)
    answers = (RankedAnswer("a cup", "cup", 1, "cup"), RankedAnswer("a [red] cat", "cat", 4, "cup"))
    text = printed(
        tables.format_searches(OpenWorld((kinds,), QuerySearch(6, 50.0, 100.0, answers)))
    )
    assert "kind │ 2,936 │ 40 (and 3 rare) │ 12.2 │ 30.0 │ 22.5 │ 2.3" in text
    assert "2 queries over 6 photos: right at 1 50.0 %, at 5 100.0 %" in text
    assert "a [red] cat │ cat │ 4 │ cup" in text
    assert "a cup │" not in text


def test_without_wrong_queries_there_is_no_table_of_them():
    right = QuerySearch(6, 100.0, 100.0, (RankedAnswer("a cup", "cup", 1, "cup"),))
    text = printed(tables.format_searches(OpenWorld((), right)))
    assert text == "1 queries over 6 photos: right at 1 100.0 %, at 5 100.0 %"


def test_largest_and_smallest_words_stand_side_by_side():
    words = [Magnitude("ball", 3.0, 5), Magnitude("dog", 2.0, 9), Magnitude("in", 0.5, 99)]
    text = printed(tables.format_extremes(words))
    assert "ball │ 3.000 │ 5 │ in │ 0.500 │ 99" in text
