"""Dates of queries, and words with other meanings."""

from __future__ import annotations

from datetime import date

import pytest

from index.photos.dates.days import write_filter
from index.photos.dates.query_dates import find_dates

TODAY = date(2024, 11, 13)  # a Wednesday
YEARS = range(2010, 2025)  # of the photos
DATES = {
    "2019": "2019",
    "2019 birthday": "2019",
    "tram 2019": "2019",
    "tram in 2019": "2019",
    "in 1984": "1984",
    "photos from 2015": "2015",
    "during 2020": "2020",
    "June 2021": "June 2021",
    "june of 2021": "June 2021",
    "jun. 2021": "June 2021",
    "Sept 2018": "September 2018",
    "a dog in march 2020": "March 2020",
    "may 2021": "May 2021",
    "in may": "May 2024",
    "the beach in August": "August 2024",
    "in december": "December 2023",
    "2019-08": "August 2019",
    "2019-08-04": "4 August 2019",
    "04.08.2019": "4 August 2019",
    "4 july 2018": "4 July 2018",
    "the 4th of July, 2018": "4 July 2018",
    "July 4th, 2018": "4 July 2018",
    "July 4 2018": "4 July 2018",
    "on 24 Dec 2022": "24 December 2022",
    "today": "13 November 2024",
    "yesterday": "12 November 2024",
    "the day before yesterday": "11 November 2024",
    "last week": "4 November 2024 to 10 November 2024",
    "this week": "11 November 2024 to 17 November 2024",
    "last month": "October 2024",
    "this month": "November 2024",
    "last year": "2023",
    "this year": "2024",
    "last monday": "11 November 2024",
    "last weekend": "9 November 2024 to 10 November 2024",
    "last august": "August 2024",
    "last december": "December 2023",
    "this july": "July 2024",
    "two weeks ago": "28 October 2024 to 3 November 2024",
    "3 days ago": "10 November 2024",
    "a month ago": "October 2024",
    "five years ago": "2019",
    "last 3 days": "10 November 2024 to 13 November 2024",
    "the past two weeks": "30 October 2024 to 13 November 2024",
    "last summer": "1 June 2024 to 31 August 2024",
    "this spring": "1 March 2024 to 31 May 2024",
    "last winter": "1 December 2023 to 29 February 2024",
    "spring 2020": "1 March 2020 to 31 May 2020",
    "summer of 2018": "1 June 2018 to 31 August 2018",
    "winter 2019": "1 December 2019 to 29 February 2020",
    "fall 2021": "1 September 2021 to 30 November 2021",
    "Christmas 2019": "24 December 2019 to 26 December 2019",
    "last christmas": "24 December 2023 to 26 December 2023",
    "easter 2019": "19 April 2019 to 22 April 2019",
    "halloween 2022": "31 October 2022",
    "new year's eve 2020": "31 December 2020",
    "since 2015": "since 2015",
    "after 2015": "since 2016",
    "before 2012": "before 2012",
    "before June 2019": "before 1 June 2019",
    "between 2015 and 2018": "1 January 2015 to 31 December 2018",
    "from 2015 to 2018": "1 January 2015 to 31 December 2018",
    "2015-2018": "1 January 2015 to 31 December 2018",
    "from March 2020 to May 2020": "1 March 2020 to 31 May 2020",
    "between June 2019 and August 2019": "1 June 2019 to 31 August 2019",
    "from 1 June 2019 to 5 June 2019": "1 June 2019 to 5 June 2019",
    "2019-06-01 to 2019-06-05": "1 June 2019 to 5 June 2019",
    "1 June 2019 until 5 June 2019": "1 June 2019 to 5 June 2019",
    "june to august 2020": "1 June 2020 to 31 August 2020",
    "between june and august 2020": "1 June 2020 to 31 August 2020",
    "december to february 2020": "1 December 2019 to 29 February 2020",
    "3 may to june 2020": "3 May 2020 to 30 June 2020",
    "may to 3 june 2020": "1 May 2020 to 3 June 2020",
    "May 3rd to June 2020": "3 May 2020 to 30 June 2020",
    "May 3 – June 5, 2020": "3 May 2020 to 5 June 2020",
    "31 february 2020": "February 2020",
    "on 31 june 2021": "June 2021",
    "February 31, 2020": "February 2020",
    "may 31 to june 31 2020": "31 May 2020 to 30 June 2020",
    "31 april to 5 may 2020": "1 April 2020 to 5 May 2020",
    "between the years 2019 and 2021": "1 January 2019 to 31 December 2021",
    "size 40 may 2020": "2020",
    "5 to 9 June 2019": "5 June 2019 to 9 June 2019",
    "between the 5th and 9th of June 2019": "5 June 2019 to 9 June 2019",
    "from the 5th to the 9th of June 2019": "5 June 2019 to 9 June 2019",
    "June 5-9, 2019": "5 June 2019 to 9 June 2019",
    "from 28 May to 3 June 2021": "28 May 2021 to 3 June 2021",
    "Dec. 24 – Jan. 2, 2020": "24 December 2019 to 2 January 2020",
    "not 5-9 June 2019": "not 5 June 2019 to 9 June 2019",
    "9 to 5 June 2019": "5 June 2019",
    "from last year to this year": "1 January 2023 to 31 December 2024",
    "until 2019": "before 2020",
    "till june 2019": "before 1 July 2019",
    "up to 2019": "before 2020",
    "since last year": "since 2023",
    "since the 1990s": "since 1990",
    "since 1984": "since 1984",
    "before last summer": "before 1 June 2024",
    "after christmas 2019": "since 27 December 2019",
    "not from 2020": "not 2020",
    "dogs without 2020": "not 2020",
    "a dog, but not in June 2020": "not June 2020",
    "except in the 2010s": "not 1 January 2010 to 31 December 2019",
    "after june 2020 until june 2021": "1 July 2020 to 30 June 2021",
    "after 2015 until 2018": "1 January 2015 to 31 December 2018",
    "since 2020 - 2021": "1 January 2020 to 31 December 2021",
    "not before 2019": "not before 2019",
    "not after june 2020": "not since 1 July 2020",
    "the night before christmas 2019": "24 December 2019 to 26 December 2019",
    "the 1990s": "1 January 1990 to 31 December 1999",
    "in the 90s": "1 January 1990 to 31 December 1999",
}
WORDS = [
    *("may", "a man may fall", "march", "march of the penguins", "august company", "april o'neil"),
    *("sun", "sunday best", "a sunny day", "mon chien", "sat on a chair", "wed couple"),
    *("2 dogs", "10 people", "3 days old kitten", "three men", "second hand", "12 months"),
    *("summer", "summer dress", "spring flowers", "fall leaves", "winter coat", "the last supper"),
    *("christmas tree", "halloween costume", "easter eggs", "new year's eve party"),
    *("IMG_2019", "IMG_2041", "DSC02019", "2019x1080", "iso 1600", "$2019", "2019€"),
    *("1984 poster", "2000 people", "1066", "3019", "2030", "1.2019", "no. 12345", "2019/20"),
    *("a week", "year", "day and night", "the past", "in the past", "ago", "last", "this", "at 5"),
]


def find(text: str) -> list[str]:
    return [one.words for one in find_dates(text, TODAY, YEARS)]


def test_the_table_is_large() -> None:
    assert len(DATES) + len(WORDS) >= 80


@pytest.mark.parametrize(("text", "words"), DATES.items())
def test_what_is_clearly_a_date_is_one(text: str, words: str) -> None:
    assert find(text) == [words]


@pytest.mark.parametrize("text", WORDS)
def test_what_may_be_something_else_is_not(text: str) -> None:
    assert find(text) == []


def test_the_preposition_goes_with_the_date() -> None:
    text = "a tram in June 2021 at night"
    (one,) = find_dates(text, TODAY, YEARS)
    assert one.span.of(text) == "in June 2021"


@pytest.mark.parametrize(
    "date", ["since last year", "but not from 2020", "between June 2019 and August 2019"]
)
def test_the_words_that_say_how_a_date_is_meant_go_with_it(date: str) -> None:
    text = f"dogs {date} at night"
    (one,) = find_dates(text, TODAY, YEARS)
    assert one.span.of(text) == date


def test_several_dates_are_alternatives() -> None:
    dates = find_dates("snow in 2017 or january 2019", TODAY, YEARS)
    assert write_filter(dates) == {
        "$or": [
            {"taken": {"gte": "2017-01-01", "lt": "2018-01-01"}},
            {"taken": {"gte": "2019-01-01", "lt": "2019-02-01"}},
        ]
    }


@pytest.mark.parametrize(
    "text", ["after 2018 before 2020", "before 2020 and after 2018", "since 2019 until 2019"]
)
def test_bounds_go_together(text: str) -> None:
    dates = find_dates(text, TODAY, YEARS)
    assert write_filter(dates) == {"taken": {"gte": "2019-01-01", "lt": "2020-01-01"}}


def test_bounds_with_nothing_between_are_alternatives() -> None:
    either = write_filter(find_dates("before 2018 or after 2020", TODAY, YEARS))
    assert either == {"$or": [{"taken": {"lt": "2018-01-01"}}, {"taken": {"gte": "2021-01-01"}}]}


def test_a_negation_holds_for_all_dates_of_a_list() -> None:
    text = "beach, not 2019 or 2020"
    found = find_dates(text, TODAY, YEARS)
    assert [(one.words, one.span.of(text)) for one in found] == [
        ("not 2019", "not 2019"),
        ("not 2020", "or 2020"),
    ]


@pytest.mark.parametrize("text", ["2019 or 2021", "from 2019 and 2021", "in 2019, or in 2021"])
def test_a_word_between_dates_is_nothing_to_look_for(text: str) -> None:
    dates = find_dates(text, TODAY, YEARS)
    assert [one.words for one in dates] == ["2019", "2021"]
    left = text
    for one in dates:
        left = left.replace(one.span.of(text), "")
    assert left.strip(" ,") == ""


def test_negated_dates_are_left_out_of_all_others() -> None:
    dates = find_dates("snow in 2017 or 2019, but not in june 2019", TODAY, YEARS)
    assert write_filter(dates) == {
        "$and": [
            {
                "$or": [
                    {"taken": {"gte": "2017-01-01", "lt": "2018-01-01"}},
                    {"taken": {"gte": "2019-01-01", "lt": "2020-01-01"}},
                ]
            },
            {"$not": {"taken": {"gte": "2019-06-01", "lt": "2019-07-01"}}},
        ]
    }


def test_an_impossible_month_is_no_day() -> None:
    assert "November" not in "".join(find("2020-13"))


@pytest.mark.parametrize("text", ["31.02.2019", "2019-13-40", "february 31 2019", "2018 to 2015"])
def test_days_that_there_are_not_do_not_break_a_search(text: str) -> None:
    find_dates(text, TODAY, YEARS)
