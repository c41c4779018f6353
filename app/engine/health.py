"""Health of an engine: whether it can store and search."""

from __future__ import annotations

from contextlib import suppress

from app.defaults import DEFAULT_COLLECTION
from app.engine.engine import Engine
from index.database.errors import NotReady
from index.disk import try_writing

_REFUSED = (
    "another model made {}, so its searches are refused: serve with that model, or "
    "`tessera index --reembed`"
)


def check(engine: Engine) -> dict[str, object]:
    """Check the database, the disk, the picture store and the indexes; gives more details.

    OSError where one of them does not work, the shards of a cluster do not answer, or searches
    of the default collection, or of all there are, are refused.
    """
    answering = _check_models(engine)
    engine.catalog.check_rights()
    try_writing(engine.folder)
    engine.catalog.pictures.check()
    engine.catalog.ownership.confirm()
    return {"collections": answering, **engine.indexes.check()}


def _check_models(engine: Engine) -> dict[str, int]:
    """Count the collections that are searched here, and those that another model made.

    The reader may know no collection, so none but the default one is named.
    """
    homes = engine.catalog.names.all()
    refused = {
        home.token
        for home in homes
        if engine.find_served(home).fingerprint != engine.models.fingerprint
    }
    with suppress(LookupError):  # it is made by the first search
        if engine.catalog.names.find(DEFAULT_COLLECTION).token in refused:
            raise NotReady(_REFUSED.format(f"the collection {DEFAULT_COLLECTION!r}"))
    if refused and len(refused) == len(homes):
        raise NotReady(_REFUSED.format("every collection"))
    return {"searched": len(homes) - len(refused), "refused": len(refused)}
