"""Curation of a collection: its /synonyms, /pins and /language."""

from __future__ import annotations

from fastapi import APIRouter

from app.access.door import EngineDep, require_role
from app.answers import curation as answers
from app.http.openapi import OF_BODY, OF_COLLECTION, OF_WRITE, BodyRoute, problems
from app.routes.collections import NameDep
from app.routes.dependencies import CallerDep, LanesDep
from app.routes.uploads import JsonBody
from app.schemas.curation import LanguageIn, LanguageOut, PinsIn, PinsOut, SynonymsIn, SynonymsOut

router = APIRouter(route_class=BodyRoute, tags=["collections"], responses=problems(*OF_COLLECTION))
OF_CHANGE = problems(*OF_COLLECTION, *OF_BODY, *OF_WRITE)


@router.get("/collections/{name}/synonyms", dependencies=[require_role("read")])
def synonyms(name: NameDep, engine: EngineDep) -> SynonymsOut:
    """The synonyms of a collection."""
    return answers.synonyms(engine, name)


@router.put(
    "/collections/{name}/synonyms", dependencies=[require_role("admin")], responses=OF_CHANGE
)
async def put_synonyms(
    name: NameDep,
    sent: JsonBody[SynonymsIn],
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> SynonymsOut:
    """Replace the synonyms of a collection; the next search uses them."""
    with lanes.writes.place(caller):
        return await lanes.writes.run(answers.put_synonyms, engine, name, sent.synonyms)


@router.get("/collections/{name}/pins", dependencies=[require_role("read")])
def pins(name: NameDep, engine: EngineDep) -> PinsOut:
    """The pinned items of a collection, by their texts."""
    return answers.pins(engine, name)


@router.put("/collections/{name}/pins", dependencies=[require_role("admin")], responses=OF_CHANGE)
async def put_pins(
    name: NameDep,
    sent: JsonBody[PinsIn],
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> PinsOut:
    """Replace the pinned items of a collection; the next search uses them."""
    with lanes.writes.place(caller):
        return await lanes.writes.run(answers.put_pins, engine, name, sent.pins)


@router.get("/collections/{name}/language", dependencies=[require_role("read")])
def language(name: NameDep, engine: EngineDep) -> LanguageOut:
    """The language of a collection's words."""
    return answers.language(engine, name)


@router.put(
    "/collections/{name}/language", dependencies=[require_role("admin")], responses=OF_CHANGE
)
async def put_language(
    name: NameDep,
    sent: JsonBody[LanguageIn],
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> LanguageOut:
    """Choose the language of a collection: its letters, stems and function words.

    Nothing is imported again. Searches use the former language while words are read again.
    """
    with lanes.writes.place(caller):
        return await lanes.writes.run(answers.put_language, engine, name, sent.language)
