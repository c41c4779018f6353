"""Client of Tessera: over HTTP, or in this process.

`clients` has Client and AsyncClient, whose methods are the `calls`. `products` syncs a collection
with a list, `items` are uploads, `local` runs the service in this process, and `models` are the
answers, written by `make client`.
"""

from tessera_client.clients import AsyncClient, Client
from tessera_client.errors import TesseraError
from tessera_client.items import NewItem
from tessera_client.products import Report, TooManyGone

__all__ = ["AsyncClient", "Client", "NewItem", "Report", "TesseraError", "TooManyGone"]
