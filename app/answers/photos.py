"""Searches for photos: by looks and words, in any order, with facets over all of them."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import partial

from app.answers.cursors import Cursors, kind_of_hits, name_of_list
from app.answers.facets import facet_out, note_undated, read_facets, read_list, read_place
from app.answers.items import about_photo, notes_of, photo_address, second_of
from app.answers.photo_words import words_out
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
from app.engine.photo_search import (
    ListedPhotos,
    RankedPhotos,
    find_weak_line,
    list_photos,
    rank_photos,
    read_dates,
    read_groups,
    read_words,
)
from app.schemas.facets import SortIn
from app.schemas.hits import ImageHit, ImageHits, QueryFilter, SearchedOut
from app.schemas.search import ImageSearch, Search
from index.database import series_rows
from index.documents.facet_counts import Facet
from index.items import Item
from index.listing.requests import ListPlace, ListRequest
from index.photos.dates.days import KEY, QueryDate, write_filter
from index.photos.words import PhotoWords, says_nothing
from index.search.requests import Answer, Hit, Request, WordGains
from models.text.queries import Query
from models.text.reading import NOTHING_KNOWN, blank
from models.vision.images import Photo

NOTHING = Query((), ())  # without a query, photos are browsed


@dataclass(frozen=True, slots=True)
class Asked:
    """A photo search as it was understood.

    words: those of its text that items may have; None without a text. least: the probability from
    which on photos are counted; None where they are not, or all are. weak_below: that of the query.
    """

    search: ImageSearch
    query: Query
    words: PhotoWords | None
    least: float | None = None
    weak_below: float | None = None

    @property
    def gains(self) -> WordGains | None:
        """What words give to photos."""
        return None if self.words is None else self.words.gains

    @property
    def request(self) -> Request:
        """The request for all photos that are counted."""
        where = self.search.filter
        return Request("images", self.query, where=where, least=self.least, words=self.gains)


def search_images(engine: Engine, search: ImageSearch, photo: Photo | None) -> ImageHits:
    """Search for the photos of a request; returns a page."""
    if search.text is None or not search.dates:
        return _search(engine, search, photo)
    dates = read_dates(engine, search.collection, search.text)
    if not dates:
        return _search(engine, search, photo)
    hits = _search(engine, _filter_by_dates(search, search.text, dates, photo), photo)
    text = search.text if hits.query.corrected is None else hits.query.text
    filters = [
        QueryFilter(
            text=when.span.of(search.text),
            span=(when.span.start, when.span.end),
            filter=when.condition,
            words=when.words,
        )
        for when in dates
    ]
    query = hits.query.model_copy(update={"text": text, "filters": filters})
    return hits.model_copy(update={"query": query})


def _filter_by_dates(
    search: ImageSearch, text: str, dates: list[QueryDate], photo: Photo | None
) -> ImageSearch:
    """A search with a filter for its dates; of nothing else, it lists the photos by date."""
    taken = write_filter(dates)
    where = {"$and": [search.filter, taken]} if search.filter else taken
    rest = blank(text, [when.span for when in dates])
    changes: dict[str, object] = {"text": rest, "filter": where}
    if says_nothing(rest):
        changes |= {"text": None, "photo_weight": None}
        if photo is None and search.id is None:
            sort = search.sort or SortIn(key=KEY, order="desc")
            changes |= {"sort": sort, "min_probability": None}
    return search.model_copy(update=changes)


def _search(engine: Engine, search: ImageSearch, photo: Photo | None) -> ImageHits:
    asked = _read(engine, search, photo)
    if not asked.query.parts:
        if asked.query is not NOTHING and not asked.gains:
            return _find_none(engine, asked)
        if asked.query is NOTHING and search.min_probability is not None:
            raise ValueError("min_probability: it needs a query; leave it out to list all photos")
        return _list(engine, asked)
    if not search.lists:
        return _find_page(engine, search, asked)
    weak_below = find_weak_line(engine, search.collection, asked.query, asked.gains)
    least = (weak_below or 0.0) if search.min_probability is None else search.min_probability
    asked = Asked(search, asked.query, asked.words, least, weak_below)
    return (_list if search.sort else _rank)(engine, asked)


def _read(engine: Engine, search: ImageSearch, photo: Photo | None) -> Asked:
    """Read the query of a request; NOTHING where it lists all photos."""
    if search.browses and photo is None:
        check_together([], search, None, least=0)
        read_photo(engine, search, None)
        return Asked(search, NOTHING, None)
    _check_filter(search, photo)
    query = read_query(engine, search, photo, of_photos=True)
    text = query.typed or query.text
    if text is None or not search.words:
        return Asked(search, query, None)
    words = read_words(engine, search.collection, text)
    named = frozenset(words.named)
    if any(spelling.typed in named for spelling in query.spellings):
        as_typed = search.model_copy(update={"spelling": False})  # a name that items have
        query = read_query(engine, as_typed, photo, of_photos=True)
    return Asked(search, _drop_notes(query, named), words)


def _check_filter(search: ImageSearch, photo: Photo | None) -> None:
    """Raise ValueError for a filter alone."""
    asked = (search.text, search.phrases, search.id, photo)
    if search.filter is not None and all(part is None for part in asked):
        raise ValueError(
            "send one of text, phrases, id or image, or a text and a photo with a photo_weight; "
            "got a filter alone, which lists photos with `sort` or `facets`, or at GET /items"
        )


def _drop_notes(query: Query, named: frozenset[str]) -> Query:
    """A query without the notes of words that are left out, where items have them."""
    if not named:
        return query
    starts = tuple(f'"{word}" is ' for word in named)
    notes = tuple(note for note in query.notes if not note.startswith(starts))
    notes = tuple(note for note in notes if note != NOTHING_KNOWN)
    return replace(query, notes=notes)


def _find_none(engine: Engine, asked: Asked) -> ImageHits:
    """Answer a query without a known word: no photos, and no values of facets."""
    search, make = asked.search, partial(_make_hit, None)
    _, about = find_page(engine, search, asked.query, "images", make)
    none = ImageHits(hits=[], **about)
    if search.lists:
        keys = [facet.key for facet in read_facets(search.facets)]
        facets = [facet_out(Facet(key, (), 0, 0)) for key in keys]
        none = none.model_copy(update={"total": 0, "facets": facets})
    return none.model_copy(update={"groups": None if search.collapse is None else 0})


def _find_page(engine: Engine, search: ImageSearch, asked: Asked) -> ImageHits:
    """Find a page of the best photos; of groups, with the number of their items."""
    if search.collapse is not None:
        passing = Request("images", asked.query, where=search.filter)
        ranked, page = _rank_page(engine, search, asked, passing)
        return page.model_copy(update={"groups": ranked.counts.groups})
    make = partial(_make_hit, asked.words)
    hits, about = find_page(engine, search, asked.query, "images", make, words=asked.gains)
    return ImageHits(hits=hits, **about)


def _rank(engine: Engine, asked: Asked) -> ImageHits:
    """Find a page of the best photos, and count all from a probability on."""
    exactly = asked.search.model_copy(update={"min_probability": asked.least, "exact": True})
    ranked, hits = _rank_page(engine, exactly, asked, asked.request)
    counts = ranked.counts
    notes = [*hits.query.notes, *note_undated(asked.search.facets, counts.facets)]
    return hits.model_copy(
        update={
            "query": hits.query.model_copy(update={"notes": notes}),
            "weak_below": asked.weak_below,
            "min_probability": asked.least,
            "total": counts.total,
            "groups": counts.groups,
            "facets": [facet_out(facet) for facet in counts.facets],
        }
    )


def _rank_page(
    engine: Engine, search: ImageSearch, asked: Asked, counted: Request
) -> tuple[RankedPhotos, ImageHits]:
    """Find a page of the best photos, each with the number of items that it stands for."""
    ranked = list[RankedPhotos]()
    groups = None
    if search.collapse is not None:
        groups = read_groups(engine, search.collection, search.collapse)

    def find(page: Request) -> tuple[Answer, dict[str, Item]]:
        request = _read_list(search, None)
        ranked.append(rank_photos(engine, search.collection, counted, page, request))
        return ranked[0].answer, ranked[0].items

    def make(search: Search, query: Query, hit: Hit, item: Item) -> ImageHit:
        image = _make_hit(asked.words, search, query, hit, item)
        image.variants = ranked[0].variants.get(hit.revision, 1)
        return image

    hits, about = find_page(
        engine, search, asked.query, "images", make, words=asked.gains, groups=groups, find=find
    )
    return ranked[0], ImageHits(hits=hits, **about)


def _list(engine: Engine, asked: Asked) -> ImageHits:
    """Find a page of all photos from a probability on, in the order of a key."""
    search, query = asked.search, asked.query
    cursors, kind = Cursors(engine.catalog.secret), _kind(search, query)
    after = read_place(cursors, search.cursor, kind) if search.cursor is not None else None
    request = _read_list(search, after)
    listed = list_photos(engine, search.collection, asked.request, request)
    page, counts = listed.page, listed.counts
    hits = [_make_listed_hit(asked, listed, item) for item in listed.items.values()]
    # Imports write series themselves: none says that no photos are nearly the same.
    keys = [key for key in request.listed_keys if key != series_rows.KEY]
    notes = note_unknown(engine, search, hits, keys) + note_undated(search.facets, counts.facets)
    return ImageHits(
        collection=search.collection,
        model=engine.models.name,
        query=query_out(query, [*notes, *notes_of(listed.items.values())]),
        weak_below=asked.weak_below,
        searched=_describe_search(listed),
        min_probability=asked.least,
        total=counts.total,
        groups=counts.groups,
        facets=[facet_out(facet) for facet in counts.facets],
        hits=hits,
        cursor=cursors.write(kind, astuple(page.place)) if page.place else None,
    )


def _make_hit(
    words: PhotoWords | None, search: Search, query: Query, hit: Hit, item: Item
) -> ImageHit:
    """An item by its best photo, with what its words gave."""
    image = image_hit(search, query, hit, item)
    if words is not None and hit.words:
        image.words = words_out(words, item, hit.words)
    return image


def _make_listed_hit(asked: Asked, listed: ListedPhotos, item: Item) -> ImageHit:
    """A listed item by its best photo.

    Without looks it is the first photo, or the first with a word.
    """
    hit, search = listed.page.hits.get(item.id), asked.search
    variants = listed.page.variants[item.id]
    if hit is not None:
        image = _make_hit(asked.words, search, asked.query, hit, item)
        return image.model_copy(update={"variants": variants})
    named = listed.page.named[item.id]
    words = words_out(asked.words, item, named) if asked.words and named else []
    photo = next((place.photo for word in words for place in word.boxes), 0)
    return ImageHit(
        id=item.id,
        score=named,
        probability=None,
        photo=photo,
        second=second_of(item, photo),
        image=photo_address(search.collection, item.id, photo),
        **about_photo(search.collection, item.id, item.photos, photo),
        metadata=search.choose_metadata(item.metadata),
        sentences=list(item.sentences),
        links=[],
        phrases=[],
        words=words,
        variants=variants,
    )


def _describe_search(listed: ListedPhotos) -> SearchedOut:
    """Every photo was looked at, and those that codes could not tell apart were scored exactly."""
    counts, page = listed.counts, listed.page
    damaged = counts.damaged | page.damaged
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
    return read_list(search.facets, search.sort, search.limit, after, search.collapse)


def _kind(search: ImageSearch, query: Query) -> str:
    """Name a list of photos in the order of a key, alike for equal filters."""
    sort = search.sort.model_dump() if search.sort else None
    return name_of_list("photos", kind_of_hits(search, query), query.text, sort)
