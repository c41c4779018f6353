"""Calls: the request and the reader of each endpoint."""

from tessera_client.calls.call import Call, Filter
from tessera_client.calls.collections import (
    aliases,
    audit,
    collections,
    drop_collection,
    forget_alias,
    index,
    make_collection,
    models,
    point_alias,
    rename_collection,
)
from tessera_client.calls.explanations import align, align_picture, caption, caption_picture, ground
from tessera_client.calls.items import (
    delete_item,
    delete_items,
    get_item,
    get_tagged_item,
    item_image,
    list_items,
    patch_item,
    put_item,
    upload,
)
from tessera_client.calls.searches import search_images, search_products, search_sentences, suggest

__all__ = [
    "Call",
    "Filter",
    "aliases",
    "align",
    "align_picture",
    "audit",
    "caption",
    "caption_picture",
    "collections",
    "delete_item",
    "delete_items",
    "drop_collection",
    "forget_alias",
    "get_item",
    "get_tagged_item",
    "ground",
    "index",
    "item_image",
    "list_items",
    "make_collection",
    "models",
    "patch_item",
    "point_alias",
    "put_item",
    "rename_collection",
    "search_images",
    "search_products",
    "search_sentences",
    "suggest",
    "upload",
]
