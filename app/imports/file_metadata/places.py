"""Names of places by position, from GeoNames's cities (CC BY 4.0)."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TABLE = Path(__file__).with_name("cities.tsv.gz")  # see cities.md
COUNTRIES = Path(__file__).with_name("countries.json")
EARTH = 6371.0  # kilometres of its radius
DENSITY = 5_000.0  # people on a square kilometre of a city
NEAR, FAR = 25.0, 100.0  # kilometres around a city that have its name, and that of its region
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cities:
    """Cities with their regions, countries and positions.

    `points` (N, 3) are on the unit sphere; `radii` (N,) are in kilometres, by population.
    """

    names: list[tuple[str, str, str]]
    points: Numbers
    radii: Numbers


def find_place(latitude: float, longitude: float) -> dict[str, str]:
    """Name the city, region and country of a position, if known.

    It is the city of which the edge is nearest, as of a circle by its population: otherwise the
    middle of a large city would have the name of a suburb.

    >>> find_place(38.7125, -9.1393)
    {'city': 'Lisbon', 'region': 'Lisbon', 'country': 'Portugal'}
    >>> find_place(0.5, -30.0)
    {}
    """
    cities = _read_cities()
    here = _on_sphere(np.array([latitude]), np.array([longitude]))[0]
    chords = np.linalg.norm(cities.points - here, axis=1)  # (N,)
    distances = 2 * EARTH * np.arcsin(np.clip(chords / 2, 0, 1)) - cities.radii
    nearest = int(distances.argmin())
    city, region, country = cities.names[nearest]
    if distances[nearest] > FAR:
        return {}
    place = {"city": city} if distances[nearest] <= NEAR else {}
    place |= {"region": region} if region else {}
    return place | {"country": country}


@lru_cache(maxsize=1)
def _read_cities() -> Cities:
    countries = json.loads(COUNTRIES.read_text("utf-8"))
    names, numbers = list[tuple[str, str, str]](), list[tuple[float, float, float]]()
    with gzip.open(TABLE, "rt", encoding="utf-8") as lines:
        for line in lines:
            country, region, city, *place = line.rstrip("\n").split("\t")
            names.append((city, region, countries[country]))
            latitude, longitude, people = map(float, place)
            numbers.append((latitude, longitude, people))
    latitudes, longitudes, people_of = np.array(numbers).T
    radii = np.sqrt(people_of / (np.pi * DENSITY))
    return Cities(names, _on_sphere(latitudes, longitudes), radii)


def _on_sphere(latitudes: Numbers, longitudes: Numbers) -> Numbers:
    """Return positions in degrees (N,) as points (N, 3) on the unit sphere."""
    up, around = np.radians(latitudes), np.radians(longitudes)
    return np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], axis=1)
