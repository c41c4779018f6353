"""Client of Tessera: over HTTP, or in this process."""

from tessera_client.clients import AsyncClient, Client
from tessera_client.errors import TesseraError
from tessera_client.items import NewItem
from tessera_client.products import Report, TooManyGone

__all__ = ["AsyncClient", "Client", "NewItem", "Report", "TesseraError", "TooManyGone"]
