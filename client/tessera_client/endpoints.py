"""The service's calls as methods, of both clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, overload

from tessera_client import calls
from tessera_client.calls import Call

if TYPE_CHECKING:
    from tessera_client.clients import AsyncClient, Client

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


class Method(Generic[Parameters, Answer]):
    """A call as a method of clients.

    It returns the answer or an awaitable.
    """

    def __init__(self, call: Callable[Parameters, Call[Answer]]) -> None:
        self._call = call
        self.__doc__ = call.__doc__

    @overload
    def __get__(self, client: Client, owner: type) -> Callable[Parameters, Answer]: ...
    @overload
    def __get__(
        self, client: AsyncClient, owner: type
    ) -> Callable[Parameters, Awaitable[Answer]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Self: ...

    def __get__(self, client: Any, owner: type) -> Any:
        """The method of a client."""
        if client is None:
            return self

        def send(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
            return client.send(self._call(*args, **kwargs))

        send.__doc__ = self.__doc__
        return send


class Endpoints:
    """The methods of both clients; a client is bound to one collection."""

    search_images = Method(calls.search_images)
    search_sentences = Method(calls.search_sentences)
    search_regions = Method(calls.search_regions)
    search_products = Method(calls.search_products)
    suggest = Method(calls.suggest)
    report_click = Method(calls.report_click)
    align = Method(calls.align)
    align_picture = Method(calls.align_picture)
    ground = Method(calls.ground)
    caption = Method(calls.caption)
    caption_picture = Method(calls.caption_picture)
    put_item = Method(calls.put_item)
    get_item = Method(calls.get_item)
    item_crop = Method(calls.item_crop)
    item_image = Method(calls.item_image)
    item_original = Method(calls.item_original)
    duplicates = Method(calls.duplicates)
    item_magnitudes = Method(calls.item_magnitudes)
    delete_item = Method(calls.delete_item)
    patch_item = Method(calls.patch_item)
    delete_items = Method(calls.delete_items)
    restore_items = Method(calls.restore_items)
    list_items = Method(calls.list_items)
    collections = Method(calls.collections)
    make_collection = Method(calls.make_collection)
    rename_collection = Method(calls.rename_collection)
    drop_collection = Method(calls.drop_collection)
    synonyms = Method(calls.synonyms)
    put_synonyms = Method(calls.put_synonyms)
    pins = Method(calls.pins)
    put_pins = Method(calls.put_pins)
    language = Method(calls.language)
    put_language = Method(calls.put_language)
    webhooks = Method(calls.webhooks)
    add_webhook = Method(calls.add_webhook)
    remove_webhook = Method(calls.remove_webhook)
    aliases = Method(calls.aliases)
    point_alias = Method(calls.point_alias)
    forget_alias = Method(calls.forget_alias)
    models = Method(calls.models)
    index = Method(calls.index)
    audit = Method(calls.audit)
