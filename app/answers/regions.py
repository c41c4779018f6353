"""Searches for regions of photos: a page of hits, and boxes in addresses."""

from __future__ import annotations

from app.answers.fragments import corners, links, phrases
from app.answers.items import about_photo, crop_address, photo_address, second_of
from app.answers.search import find_page, read_query
from app.engine.engine import Engine
from app.schemas.fields import Corners
from app.schemas.regions import RegionHit, RegionHits, RegionSearch
from app.schemas.search import Search
from index.bags import photo_at
from index.items import Item
from index.search.requests import Hit
from models.scores import alignment
from models.text.queries import Query
from models.vision.images import Photo


def search_regions(engine: Engine, search: RegionSearch, photo: Photo | None) -> RegionHits:
    """Search for the regions of a request; returns a page."""
    query = read_query(engine, search, photo)
    hits, about = find_page(engine, search, query, "images", _region_hit, search.per_photo)
    return RegionHits(hits=hits, **about)


def read_corners(text: str) -> Corners:
    """Read a box as it stands in an address; ValueError for another text."""
    try:
        left, top, right, bottom = map(float, text.split(","))
    except ValueError as broken:
        raise ValueError(
            f"box: left, top, right and bottom with commas between, such as 0.1,0.2,0.6,0.9; "
            f"got {text!r:.100}"
        ) from broken
    if not all(0 <= edge <= 1 for edge in (left, top, right, bottom)):
        raise ValueError(f"box: its numbers are fractions of the photo, 0 to 1, got {text!r:.100}")
    return left, top, right, bottom


def _region_hit(search: Search, query: Query, hit: Hit, stored: Item) -> RegionHit:
    photo = photo_at(hit.position)
    assert photo is not None
    assert hit.region is not None
    part = hit.bag.alone(hit.region)
    box = corners(part.places[0])
    assert box is not None
    return RegionHit(
        id=hit.item,
        score=hit.score,
        probability=hit.probability,
        photo=photo,
        second=second_of(stored, photo),
        region=hit.region,
        box=box,
        crop=crop_address(search.collection, hit.item, photo, box),
        image=photo_address(search.collection, hit.item, photo),
        **about_photo(search.collection, stored.id, stored.photos, photo),
        metadata=search.choose_metadata(stored.metadata),
        sentences=list(stored.sentences),
        links=links(hit.links, query.bag, hit.bag),
        phrases=phrases(alignment.phrases(part, query, hit.links), query.text, part),
    )
