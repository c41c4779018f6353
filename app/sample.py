"""Which photos an empty Tessera shows: six that the package scikit-image carries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from app.folder import Source

CREDITS = {
    "astronaut.png": ("Eileen Collins, astronaut", "NASA", "public domain"),
    "chelsea.png": ("Chelsea the cat", "Stéfan van der Walt", "CC0"),
    "coffee.png": ("A cup of coffee", "Rachel Michetti, Pikolo Espresso Bar", "CC0"),
    "hubble_deep_field.jpg": ("Hubble eXtreme Deep Field", "NASA", "public domain"),
    "motorcycle_left.png": (
        "A motorcycle",
        "Middlebury 2014 stereo benchmark (Scharstein et al.)",
        "as stated at vision.middlebury.edu/stereo/data/scenes2014",
    ),
    "rocket.jpg": ("Falcon 9 carrying DSCOVR lifts off", "SpaceX", "public domain"),
}


def photos() -> list[Source]:
    """The sample's sources; LookupError where scikit-image's photos are not installed."""
    package = find_spec("skimage")
    if package is None or package.origin is None:
        raise LookupError("install scikit-image: it carries the sample photos")
    folder = Path(package.origin).parent / "data"
    return [
        Source(
            id=Path(name).stem,
            place=f"sample:{name}",
            stamp="1",
            photo=folder / name,
            metadata={"title": title, "credit": credit, "license": terms, "sample": True},
        )
        for name, (title, credit, terms) in CREDITS.items()
        if (folder / name).is_file()
    ]
