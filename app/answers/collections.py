"""Collections and aliases as JSON."""

from __future__ import annotations

from app.engine.engine import Engine
from app.imports import progress
from app.imports.folders.reports import read_reports
from app.schemas.collections import (
    AliasesOut,
    AliasOut,
    CollectionOut,
    CollectionsOut,
    ImportOut,
    ImportsOut,
)
from index.items import Collection


def collections(engine: Engine) -> CollectionsOut:
    """All collections."""
    return CollectionsOut(
        collections=[_out(engine, collection) for collection in engine.bounds.collections()]
    )


def collection(engine: Engine, name: str) -> CollectionOut:
    """Describe the collection of a name or an alias."""
    return _out(engine, engine.find(name))


def imports(engine: Engine, name: str) -> ImportsOut:
    """The last imports into a collection on this machine."""
    home = engine.find_served(engine.find(name))
    reports = read_reports(engine.folder, home.token)
    return ImportsOut(imports=[ImportOut.model_validate(report.as_json()) for report in reports])


def make(engine: Engine, name: str) -> bool:
    """Open a collection; True if it was made for this."""
    known = {collection.token for collection in engine.bounds.collections()}
    return engine.open(name, create=True).token not in known


def aliases(engine: Engine) -> AliasesOut:
    """All aliases."""
    aliases = engine.catalog.names.aliases()
    return AliasesOut(
        aliases=[AliasOut(name=alias.name, collection=alias.collection) for alias in aliases]
    )


def alias(engine: Engine, name: str) -> AliasOut:
    """An alias, as it stands now."""
    return AliasOut(name=name, collection=engine.catalog.names.find(name).name)


def _out(engine: Engine, home: Collection) -> CollectionOut:
    served = engine.find_served(home)
    return CollectionOut(
        name=home.name,
        aliases=engine.bounds.aliases(home),
        items=engine.catalog.count(served),
        coming=progress.count_coming(engine.folder, served.token),
        importing=progress.is_importing(engine.folder, served.token),
        model=served.fingerprint,
        dimension=served.dimension,
        score=served.score,
        usable=served.fingerprint == engine.models.fingerprint,
    )
