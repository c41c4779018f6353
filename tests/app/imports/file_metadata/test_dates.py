"""Dates of tags and of file names are read if possible."""

from __future__ import annotations

from datetime import datetime

import pytest

from app.imports.file_metadata import dates


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2019:08:04 15:22:10", "2019-08-04T15:22:10"),
        ("2019:08:04 15:22:10\0", "2019-08-04T15:22:10"),
        ("2019-08-04T15:22:10.123Z", "2019-08-04T15:22:10+00:00"),
        ("2019-08-04T15:22+0100", "2019-08-04T15:22:00+01:00"),
        ("2019-08-04", "2019-08-04"),
        ("2019-08", "2019-08"),
        ("1839:01:01 00:00:00", "1839-01-01T00:00:00"),
        ("2019:08:04 15:22:60", "2019-08-04T15:22:59"),
        *((odd, None) for odd in ("", "0000:00:00 00:00:00", "2019:13:04 15:22:10", "yesterday")),
        *((odd, None) for odd in ("2019:02:30 10:00:00", "2019:08:04 25:00:00", "9" * 5000)),
        *((odd, None) for odd in ("2999:01:01 00:00:00", "1970:01:01 00:00:00", "1200:01:01")),
        ("9999:12:31 23:59:59", None),
    ],
)
def test_dates_of_tags(text: str, date: str | None) -> None:
    assert dates.read_date(text) == date


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("IMG_20190804_152210.jpg", "2019-08-04T15:22:10"),
        ("20190804_152210.jpg", "2019-08-04T15:22:10"),
        ("20190804_152210123.jpg", "2019-08-04T15:22:10"),
        ("VID_20190804_152210_1.mp4", "2019-08-04T15:22:10"),
        ("PXL_20190804_152210123.jpg", "2019-08-04T15:22:10+00:00"),
        ("Screenshot_2019-08-04-15-22-10.png", "2019-08-04T15:22:10"),
        ("Screenshot 2019-08-04 at 15.22.10.png", "2019-08-04T15:22:10"),
        ("Screenshot 2019-08-04 at 12.22.10 AM.png", "2019-08-04T00:22:10"),
        ("Screenshot 2019-08-04 at 3.22.10\u202fPM.png", "2019-08-04T15:22:10"),
        *(
            (f"Capture 2019-08-04 {at} 15.22.10.png", "2019-08-04T15:22:10")
            for at in ("à", "a\u0300", "às", "a las", "alle", "om", "um", "kl.")
        ),
        ("2019-08-04 15.22.10.jpg", "2019-08-04T15:22:10"),
        ("WhatsApp Image 2019-08-04 at 15.22.jpeg", "2019-08-04T15:22:00"),
        ("photo_2019-08-04_15-22-10.jpg", "2019-08-04T15:22:10"),
        ("IMG-20190804-WA0001.jpg", "2019-08-04"),
        *((f"2019-08-04{counter}.jpg", "2019-08-04") for counter in ("_100", "_0012", " 1530")),
        *((f"IMG_20190804_{counter}.jpg", "2019-08-04") for counter in ("001", "1", "12345")),
        ("20190804T1522.jpg", "2019-08-04T15:22:00"),
        ("2019-08-04 at 1522.jpg", "2019-08-04T15:22:00"),
        ("FB_IMG_1564925530123.jpg", "2019-08-04T13:32:10+00:00"),
        *(
            (odd, None)
            for odd in ("IMG_2041.JPG", "DSC01234.ARW", "20191399.jpg", "12345678901.jpg")
        ),
        *((odd, None) for odd in ("99990804.jpg", "IMG_20990804.jpg", "555-20190804123.png")),
    ],
)
def test_dates_of_names(name: str, date: str | None) -> None:
    assert dates.read_name(name) == date


@pytest.mark.parametrize(
    ("local", "offset"),
    [
        ("2019-08-04T15:22:10", "+01:00"),
        ("2019-08-04T19:52:03", "+05:30"),
        ("2019-08-04T06:20:10", "-08:00"),
        ("2019-08-04T15:29:10", ""),  # the clock is wrong
        ("2019-08-06T15:22:10", ""),
    ],
)
def test_satellites_say_the_offset(local: str, offset: str) -> None:
    assert dates.derive_offset(local, datetime(2019, 8, 4, 14, 22, 0)) == offset
