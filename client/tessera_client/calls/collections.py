"""Calls of collections and their aliases, of models, and of the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import quote

from tessera_client.calls.call import Call, model_of, path_of
from tessera_client.json_values import to_list
from tessera_client.models import (
    Alias,
    Aliases,
    Audit,
    Collection,
    Collections,
    Index,
    Language,
    Models,
    NewWebhook,
    Pins,
    Synonyms,
    Webhooks,
)


def collections() -> Call[Collections]:
    """The collections there are."""
    return Call("GET", "/collections", model_of(Collections), of_collection=False)


def make_collection(name: str) -> Call[Collection]:
    """Make an empty collection; an existing one stays as it is."""
    return Call("PUT", path_of("collections", name), model_of(Collection), of_collection=False)


def rename_collection(name: str, new: str, *, alias: bool = False) -> Call[Collection]:
    """Rename a collection; `alias` leaves the old name as an alias."""
    sent = {"name": new, "alias": alias}
    return Call(
        "PATCH",
        path_of("collections", name),
        model_of(Collection),
        document=sent,
        of_collection=False,
    )


def drop_collection(name: str) -> Call[None]:
    """Drop a collection; refused while an alias stands for it."""
    return Call("DELETE", path_of("collections", name), lambda _: None, of_collection=False)


def synonyms(name: str) -> Call[Synonyms]:
    """The synonyms of a collection."""
    path = path_of("collections", name, "synonyms")
    return Call("GET", path, model_of(Synonyms), of_collection=False)


def put_synonyms(name: str, synonyms: Sequence[Sequence[str]]) -> Call[Synonyms]:
    """Replace the synonyms of a collection, a list a meaning."""
    path = path_of("collections", name, "synonyms")
    lines = to_list(synonyms, "synonyms") or []
    sent = {"synonyms": [to_list(line, "a line of synonyms") for line in lines]}
    return Call("PUT", path, model_of(Synonyms), document=sent, of_collection=False)


def pins(name: str) -> Call[Pins]:
    """The pinned items of a collection, by their texts."""
    return Call("GET", path_of("collections", name, "pins"), model_of(Pins), of_collection=False)


def put_pins(name: str, pins: Mapping[str, Sequence[str]]) -> Call[Pins]:
    """Replace the pinned items of a collection: ordered ids by texts."""
    path = path_of("collections", name, "pins")
    lists = {text: to_list(ids, f"pins[{text!r:.80}]") for text, ids in pins.items()}
    sent = {"pins": [{"text": text, "ids": ids} for text, ids in lists.items()]}
    return Call("PUT", path, model_of(Pins), document=sent, of_collection=False)


def language(name: str) -> Call[Language]:
    """The language of a collection's words."""
    path = path_of("collections", name, "language")
    return Call("GET", path, model_of(Language), of_collection=False)


def put_language(name: str, language: str) -> Call[Language]:
    """Choose the language of a collection's words, such as "de"."""
    path = path_of("collections", name, "language")
    sent = {"language": language}
    return Call("PUT", path, model_of(Language), document=sent, of_collection=False)


def webhooks(name: str) -> Call[Webhooks]:
    """The webhooks of a collection with their last deliveries."""
    path = path_of("collections", name, "webhooks")
    return Call("GET", path, model_of(Webhooks), of_collection=False)


def add_webhook(
    name: str,
    url: str,
    *,
    events: Sequence[Literal["import.finished", "import.failed"]] | None = None,
    secret: str | None = None,
) -> Call[NewWebhook]:
    """Add an address for finished imports; the answer has its secret."""
    sent: dict[str, object] = {"url": url}
    sent |= {} if events is None else {"events": to_list(events, "events")}
    sent |= {} if secret is None else {"secret": secret}
    path = path_of("collections", name, "webhooks")
    return Call("POST", path, model_of(NewWebhook), document=sent, of_collection=False)


def remove_webhook(name: str, webhook: str) -> Call[None]:
    """Remove a webhook and its waiting deliveries."""
    path = path_of("collections", name, f"webhooks/{quote(webhook, safe='')}")
    return Call("DELETE", path, lambda _: None, of_collection=False)


def aliases() -> Call[Aliases]:
    """The aliases there are."""
    return Call("GET", "/aliases", model_of(Aliases), of_collection=False)


def point_alias(name: str, collection: str) -> Call[Alias]:
    """Have an alias stand for a collection, at once for everyone."""
    sent = {"collection": collection}
    return Call(
        "PUT", path_of("aliases", name), model_of(Alias), document=sent, of_collection=False
    )


def forget_alias(name: str) -> Call[None]:
    """Delete an alias; its collection stays."""
    return Call("DELETE", path_of("aliases", name), lambda _: None, of_collection=False)


def models() -> Call[Models]:
    """Get the loaded models and the limits of uploads."""
    return Call("GET", "/model", model_of(Models), of_collection=False)


def index() -> Call[Index]:
    """Get statistics of the collection's index."""
    return Call("GET", "/index", model_of(Index))


def audit(
    queries: Sequence[str] | None = None,
    *,
    side: Literal["images", "sentences"] = "images",
    limit: int = 10,
) -> Call[Audit]:
    """Measure the recall of the usual answers against exact ones."""
    fields = {"queries": to_list(queries, "queries"), "side": side, "limit": limit}
    return Call("POST", "/index/audit", model_of(Audit), fields)
