from io import StringIO

import pytest
from rich.console import Console

from index import progress
from index.progress import duration, follow, show


@pytest.fixture
def clock(monkeypatch):
    """Seconds by the test's own clock."""
    seconds = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: seconds[0])
    return seconds


def worked(clock, seconds, total, console):
    """Go through parts of so many seconds each."""
    for part in follow(range(len(seconds)), total, "photos", console):
        clock[0] += seconds[part]


def lines(clock, seconds, total=None):
    """Lines without a terminal, for parts of some seconds."""
    console = Console(file=StringIO(), width=20)
    worked(clock, seconds, total, console)
    return console.file.getvalue().splitlines()


def test_without_a_terminal_a_line_a_minute_says_how_much_is_done_and_how_long_the_rest_takes(
    clock,
):
    told = lines(clock, [40] * 8, total=8)
    assert told == [
        "photos: 25 %, 4 min left",
        "photos: 50 %, 3 min left",
        "photos: 75 %, 1 min left",
    ]


def test_of_work_that_ends_within_a_minute_nothing_is_said(clock):
    assert lines(clock, [7] * 8, total=8) == []
    assert lines(clock, [61], total=1) == []  # nothing is left to say it of


def test_without_a_total_lines_say_how_many_are_done(clock):
    assert lines(clock, [0.01] * 5999 + [61, 0.01]) == ["photos: 6,000"]


def test_what_was_done_before_does_not_make_the_rest_look_quick(clock):
    console = Console(file=StringIO())
    with show(console) as report:
        report("pictures", 900, 1000)
        clock[0] += 60
        report("pictures", 910, 1000)
    assert console.file.getvalue() == "pictures: 91 %, 9 min left\n"


def test_each_thing_that_is_done_has_its_own_pace(clock):
    console = Console(file=StringIO())
    with show(console) as report:
        for stage in ("items", "pictures"):
            report(stage, 0, 2)
            clock[0] += 59
            report(stage, 1, 2)
    assert console.file.getvalue() == ""


def test_on_a_terminal_a_bar_shows_it_and_no_line(clock):
    console = Console(file=StringIO(), force_terminal=True, width=80)
    worked(clock, [100] * 4, 4, console)
    shown_bar = console.file.getvalue()
    assert "photos" in shown_bar
    assert "left" not in shown_bar


@pytest.mark.parametrize(
    ("seconds", "said"), [(12.4, "12 s"), (90, "2 min"), (3600, "1 h 0 min"), (5400, "1 h 30 min")]
)
def test_durations_are_said_as_people_say_them(seconds, said):
    assert duration(seconds) == said
