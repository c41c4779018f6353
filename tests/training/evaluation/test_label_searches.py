"""Searches by label are measured on photos of colours."""

from itertools import product

import numpy as np
import pytest
import torch
from rich.console import Console

from models.scores.calibration import Calibration
from models.types import WHOLE_FRAME, FragmentBag
from tests.colours import Colours
from tests.models.scores.test_presence import PRESENCE
from training.evaluation.label_searches import LabelWorld, measure
from training.evaluation.tables import format_kinds, format_label_searches

LABELS = ("blue", "lime", "red")


@pytest.fixture
def world():
    """Ten photos of every choice of three colours.

    Each region has one colour, and one is grey.
    """
    colours = torch.stack([Colours().word(name) for name in LABELS])
    choices = [shown for shown in product([False, True], repeat=3) for _ in range(10)]
    bags = [
        FragmentBag(
            torch.cat([colours[torch.tensor(shown)], torch.zeros(1, 3)]),
            (WHOLE_FRAME,) * (sum(shown) + 1),
            ("",) * (sum(shown) + 1),
        )
        for shown in choices
    ]
    calibration = Calibration(
        torch.ones(1, 3), torch.ones(1, 3), torch.zeros(3, 4), 0.25, presence=PRESENCE
    )
    return LabelWorld(Colours(), calibration, bags, LABELS, np.array(choices))


def test_what_sees_every_colour_is_right_in_all(world):
    measured = measure(world)
    assert (measured.photos, measured.labels) == (80, 3)
    assert (measured.presence.there, measured.presence.false) == (1.0, 0.0)
    for ranking in (measured.single, measured.pairs, measured.negation):
        assert (ranking.precision_5, ranking.mean_precision) == (1.0, 1.0)
    assert measured.behind == 1.0
    assert measured.single.by_text == dict.fromkeys(LABELS, 1.0)
    assert measured.negation.queries == 6
    assert measured.of_persons.queries == 0


def test_without_a_presence_nothing_is_said_to_be_there(world):
    plain = LabelWorld(world.matcher, None, world.bags, LABELS, world.truth)
    measured = measure(plain)
    assert (measured.presence, measured.weak, measured.behind) == (None, None, 0.0)
    console = Console(record=True, width=120)
    console.print(format_label_searches(measured))
    assert "80 photos, 3 labels" in console.export_text()


def test_a_table_names_what_is_said_falsely(world):
    console = Console(record=True, width=120)
    console.print(format_label_searches(measure(world)))
    text = console.export_text()
    assert "said to be there: 100.0 % of what is, 0.0 % of what is not" in text
    assert "above the line of weak hits" in text


def test_kinds_of_things_are_listed_from_the_best_and_from_the_worst():
    console = Console(record=True, width=120)
    console.print(format_kinds({"cup": 0.25, "zebra": 1.0, "bus": 0.5}))
    rows = [line.split() for line in console.export_text().splitlines() if "." in line]
    assert [[word for word in row if word.isalnum() or "." in word] for row in rows] == [
        ["zebra", "100.0", "cup", "25.0"],
        ["bus", "50.0", "bus", "50.0"],
        ["cup", "25.0", "zebra", "100.0"],
    ]


def test_photos_without_common_labels_are_refused(world):
    alone = LabelWorld(world.matcher, None, world.bags[:10], LABELS, world.truth[:10])
    with pytest.raises(ValueError, match="too few photos share labels"):
        measure(alone)
