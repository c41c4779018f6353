"""Pictures of tools' answers: small files with names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.answers.search import read_box
from app.drawing.crops import WEBP, Crop, draw_crop, shrink
from app.engine.engine import Engine
from app.engine.thumbnails import SIDES, Size
from app.schemas.fields import Corners

DRAWING = 900  # pixels of the long side: the words next to the boxes stay legible


@dataclass(frozen=True, slots=True)
class Illustration:
    """A picture as a WebP file."""

    file: bytes
    kind: str = WEBP


def show_photo(
    engine: Engine, collection: str, item: str, photo: int = 0, size: Size = "small"
) -> Illustration:
    """Show the thumbnail of one of an item's photos."""
    digest = engine.read(collection, engine.catalog.get, item).photo(photo).digest

    def read() -> bytes:
        return engine.read(collection, engine.catalog.picture, item, photo).jpeg

    return Illustration(engine.thumbnails.get(digest, size, read))


def show_part(engine: Engine, collection: str, item: str, photo: int, box: Corners) -> Illustration:
    """Show a part of one of an item's photos."""
    picture = engine.read(collection, engine.catalog.picture, item, photo)
    return Illustration(shrink(draw_crop(Crop(picture.jpeg, read_box(box)), WEBP), SIDES["small"]))


def show_drawing(png: bytes) -> Illustration:
    """Show the drawing of an explanation."""
    return Illustration(shrink(png, DRAWING))


def show_all(
    wanted: Iterable[tuple[str, Callable[[], Illustration]]],
) -> tuple[list[str], list[Illustration], list[str]]:
    """Show pictures: their names, the files, and notes on missing ones."""
    shown, illustrations, notes = list[str](), list[Illustration](), list[str]()
    for name, show in wanted:
        try:
            illustrations.append(show())
        except LookupError as gone:  # deleted since the search, or lost
            notes.append(f"no picture of {name}: {gone}")
        else:
            shown.append(name)
    return shown, illustrations, notes
