import io

from rich.console import Console

from training.evaluation import tables
from training.evaluation.faithfulness import Faithfulness
from training.evaluation.localisation import Localisation
from training.evaluation.magnitudes import Magnitude
from training.evaluation.measure import Measured
from training.evaluation.retrieval import Direction, Retrieval

ONE = Direction(10.0, 20.0, 30.0, 4.0, 5.5)
TWO = Direction(1.0, 2.0, 3.0, 40.0, 55.0)
LINKS = Faithfulness(linked=2.0, lost=0.5, share=25.0, gap=1e-6, pairs=7)
BOXES = Localisation(11.0, 22.0, 33.0, 44.0, 55.0, 6.5, 1234)


def printed(table):
    file = io.StringIO()
    Console(file=file, width=120).print(table)
    return " ".join(file.getvalue().split())


def test_every_measurement_is_shown():
    text = printed(
        tables.metrics(
            Measured(3, 9, Retrieval(ONE, TWO), Retrieval(TWO, ONE), ONE, BOXES, LINKS, 2)
        )
    )
    assert "image → text (*) │ 1.0 │ 2.0 │ 3.0 │ 40 │ 55.0" in text
    assert "text → text │ 10.0 │ 20.0 │ 30.0 │ 4 │ 5.5" in text
    assert "11.0 / 22.0 / 33.0 (at most 55.0) 44.0 % pointed at, mAP 6.5" in text
    assert "loses 0.500 of its score, 25 % of those links" in text


def test_what_was_not_measured_is_not_shown():
    both = Retrieval(ONE, TWO)
    text = printed(tables.metrics(Measured(3, 3, both, both, None, None, None, 2)))
    assert "text → text" not in text
    assert "pointed" not in text
    assert "links" not in text


def test_largest_and_smallest_words_stand_side_by_side():
    words = [Magnitude("ball", 3.0, 5), Magnitude("dog", 2.0, 9), Magnitude("in", 0.5, 99)]
    text = printed(tables.extremes(words))
    assert "ball │ 3.000 │ 5 │ in │ 0.500 │ 99" in text
