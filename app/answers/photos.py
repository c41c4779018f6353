"""Searches for photos: by looks, in any order, with facets over all of them."""

from __future__ import annotations

from dataclasses import astuple

from app.answers.cursors import Cursors, kind_of_hits, name_of_list
from app.answers.facets import facet_out, read_list, read_place
from app.answers.items import notes_of, photo_address, size_of
from app.answers.search import (
    check_together,
    find_page,
    image_hit,
    note_unknown,
    query_out,
    read_photo,
    read_query,
)
from app.engine.engine import Engine
from app.engine.photo_search import ListedPhotos, find_weak_line, list_photos
from app.schemas.search import ImageHit, ImageHits, ImageSearch, SearchedOut
from index.items import Item
from index.listing.requests import ListPlace, ListRequest
from index.search.requests import Request
from models.text.queries import Query
from models.vision.images import Photo

NOTHING = Query((), ())  # without a query, photos are browsed


def search_images(engine: Engine, search: ImageSearch, photo: Photo | None) -> ImageHits:
    """Search for the photos of a request; returns a page."""
    query = _read_query(engine, search, photo)
    if not search.lists:
        hits, about = find_page(engine, search, query, "images", image_hit)
        return ImageHits(hits=hits, **about)
    weak_below = None if query is NOTHING else find_weak_line(engine, search.collection, query)
    least = _find_least(search, query, weak_below)
    if query is not NOTHING and search.sort is None:
        listed = _rank(engine, search, query, least)
    else:
        listed = _list(engine, search, query, least)
    return listed.model_copy(update={"weak_below": weak_below})


def _read_query(engine: Engine, search: ImageSearch, photo: Photo | None) -> Query:
    """Read the query of a request; NOTHING where it lists all photos."""
    if not search.browses or photo is not None:
        return read_query(engine, search, photo, of_photos=True)
    check_together([], search, None, least=0)
    read_photo(engine, search, None)
    return NOTHING


def _find_least(search: ImageSearch, query: Query, weak_below: float | None) -> float | None:
    """The probability from which on photos are counted: the line of weak ones by default."""
    if query is NOTHING:
        if search.min_probability is not None:
            raise ValueError("min_probability: it needs a query; leave it out to list all photos")
        return None
    if search.min_probability is not None:
        return search.min_probability
    return weak_below or 0.0


def _rank(engine: Engine, search: ImageSearch, query: Query, least: float | None) -> ImageHits:
    """Find a page of the best photos, and count all from a probability on."""
    exactly = search.model_copy(update={"min_probability": least, "exact": True})
    hits, about = find_page(engine, exactly, query, "images", image_hit)
    request = Request("images", query, where=search.filter, least=least)
    counted = list_photos(
        engine, search.collection, request, _read_list(search, None), paged=False
    ).counts
    return ImageHits(
        hits=hits,
        min_probability=least,
        total=counted.total,
        facets=[facet_out(facet) for facet in counted.facets],
        **about,
    )


def _list(engine: Engine, search: ImageSearch, query: Query, least: float | None) -> ImageHits:
    """Find a page of all photos from a probability on, in the order of a key."""
    cursors, kind = Cursors(engine.catalog.secret), _kind(search, query)
    after = read_place(cursors, search.cursor, kind) if search.cursor is not None else None
    request = _read_list(search, after)
    asked = Request("images", query, where=search.filter, least=least)
    listed = list_photos(engine, search.collection, asked, request, paged=True)
    page, counts = listed.page, listed.counts
    assert page is not None
    hits = [_hit(search, query, listed, item) for item in listed.items.values()]
    notes = note_unknown(engine, search, hits, [*request.listed_keys])
    return ImageHits(
        collection=search.collection,
        model=engine.models.name,
        query=query_out(query, [*notes, *notes_of(listed.items.values())]),
        weak_below=None,
        searched=_searched(listed),
        min_probability=least,
        total=counts.total,
        facets=[facet_out(facet) for facet in counts.facets],
        hits=hits,
        cursor=cursors.write(kind, astuple(page.place)) if page.place else None,
    )


def _hit(search: ImageSearch, query: Query, listed: ListedPhotos, item: Item) -> ImageHit:
    """A listed item: by its best photo, or without a query by its first."""
    assert listed.page is not None
    hit = listed.page.hits.get(item.id)
    if hit is not None:
        return image_hit(search, query, hit, item)
    return ImageHit(
        id=item.id,
        score=0.0,
        probability=None,
        photo=0,
        image=photo_address(search.collection, item.id, 0),
        **size_of(item, 0),
        metadata=search.choose_metadata(item.metadata),
        sentences=list(item.sentences),
        links=[],
        phrases=[],
    )


def _searched(listed: ListedPhotos) -> SearchedOut:
    """Every photo was looked at, and what codes could not tell was scored exactly."""
    counts, page = listed.counts, listed.page
    damaged = counts.damaged | (page.damaged if page else frozenset())
    return SearchedOut(
        exact=True,
        rows=counts.rows,
        candidates=counts.rows,
        behind=counts.behind,
        complete=counts.coverage == 1.0,
        coverage=counts.coverage,
        damaged=sorted(damaged),
    )


def _read_list(search: ImageSearch, after: ListPlace | None) -> ListRequest:
    return read_list(search.facets, search.sort, search.limit, after)


def _kind(search: ImageSearch, query: Query) -> str:
    """Name a list of photos in the order of a key, alike for equal filters."""
    sort = search.sort.model_dump() if search.sort else None
    return name_of_list("photos", kind_of_hits(search, query), sort)
