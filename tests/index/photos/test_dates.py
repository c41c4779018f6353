"""Dates of queries, and words with other meanings."""

from __future__ import annotations

from datetime import date

import pytest

from index.photos.dates import find_dates, write_filter

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
    return [one.days.words for one in find_dates(text, TODAY, YEARS)]


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


def test_several_dates_are_alternatives() -> None:
    dates = find_dates("snow in 2017 or january 2019", TODAY, YEARS)
    assert write_filter(dates) == {
        "$or": [
            {"taken": {"gte": "2017-01-01", "lt": "2018-01-01"}},
            {"taken": {"gte": "2019-01-01", "lt": "2019-02-01"}},
        ]
    }


@pytest.mark.parametrize("text", ["31.02.2019", "2019-13-40", "february 31 2019", "2018 to 2015"])
def test_days_that_there_are_not_do_not_break_a_search(text: str) -> None:
    find_dates(text, TODAY, YEARS)
