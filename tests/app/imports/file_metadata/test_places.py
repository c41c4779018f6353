"""Positions have the names of their cities, regions and countries."""

from __future__ import annotations

import pytest

from app.imports.file_metadata.places import find_place


@pytest.mark.parametrize(
    ("latitude", "longitude", "names"),
    [
        (38.7125, -9.1393, ("Lisbon", "Lisbon", "Portugal")),
        (38.6790, -9.1570, ("Almada", "Setúbal", "Portugal")),
        (40.7100, -74.000, ("New York City", "New York", "United States")),
        (35.6600, 139.700, ("Tokyo", "Tokyo", "Japan")),
        (52.4980, 13.4000, ("Berlin", "State of Berlin", "Germany")),
        (48.8000, 2.1300, ("Versailles", "Île-de-France", "France")),
        (36.1000, -112.10, (None, "Arizona", "United States")),
        (0.5000, -30.0000, (None, None, None)),
        (-90.0, 180.0, (None, None, None)),
    ],
)
def test_places(latitude: float, longitude: float, names: tuple[str | None, ...]) -> None:
    place = find_place(latitude, longitude)
    assert tuple(place.get(key) for key in ("city", "region", "country")) == names
    assert None not in place.values()
