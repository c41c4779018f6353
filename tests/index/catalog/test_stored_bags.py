"""Look-up of stored bags: the given ones, and no others."""

from contextlib import ExitStack

import pytest
import torch

from index.bags import IMAGE
from index.catalog import stored_bags
from index.catalog.catalog import Catalog
from index.database.errors import Busy, Damaged
from index.database.storage import Storage


def test_bags_come_by_revision_and_position(catalog, collection, entry, monkeypatch):
    monkeypatch.setattr(stored_bags, "CHUNK", 4)  # keys in a statement, and the last has fewer
    entries = [entry(f"{i}") for i in range(3)]
    catalog.put_many(collection, [*entries, entry("gone")])
    catalog.delete(collection, "gone")
    wanted = [(3, 1), (1, IMAGE), (2, 0), (1, 1), (3, IMAGE), (2, 7), (4, 0), (9, 0)]
    found = catalog.bags(collection, wanted)
    assert set(found) == set(wanted[:5])
    assert [found[key].item for key in wanted[:5]] == ["2", "0", "1", "0", "2"]
    for (revision, position), stored in found.items():
        given = entries[revision - 1]
        bag = given.images[0] if position == IMAGE else given.bags[position]
        assert torch.allclose(stored.bag.vectors, bag.vectors, atol=4e-3)
        assert (stored.bag.labels, stored.position) == (bag.labels, position)


def test_bags_of_another_collection_are_not_found(catalog, collection, entry):
    other = catalog.names.make("other", fingerprint="m", dimension=8, score="sum_of_max")
    catalog.replace(other, entry("a"))
    assert catalog.bags(collection, [(1, 0)]) == catalog.bags(collection, []) == {}
    assert list(catalog.bags(other, [(1, 0)])) == [(1, 0)]


def test_damaged_catalog_is_told_in_our_words(catalog, collection, entry):
    catalog.put_many(collection, [entry(f"{i}") for i in range(50)])
    path = catalog.storage.folder / "catalog.sqlite"
    with catalog.reader.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    catalog.reader.dispose()  # what it has in memory goes
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(Damaged, match="restore a backup"):
        catalog.bags(collection, [(1, IMAGE)])


def test_who_gets_no_connection_in_time_is_told_busy(tmp_path):
    catalog = Catalog(Storage(tmp_path, wait=0.05))
    collection = catalog.names.make("c", fingerprint="m", dimension=8, score="sum_of_max")
    with ExitStack() as stack:
        for _ in range(8 + 64):
            stack.enter_context(catalog.reader.connect())
        with pytest.raises(Busy, match="all connections"):
            catalog.bags(collection, [(1, IMAGE)])
    assert catalog.bags(collection, [(1, IMAGE)]) == {}
    catalog.close()
