"""Look-up of stored bags: those that are asked for, and no others."""

import torch

from index import stored_items
from index.bags import IMAGE


def test_bags_come_by_revision_and_position(catalog, collection, entry, monkeypatch):
    monkeypatch.setattr(stored_items, "CHUNK", 4)  # keys in a statement, and the last has fewer
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
    other = catalog.collection("other", fingerprint="m", dimension=8, score="sum_of_max")
    catalog.put(other, entry("a"))
    assert catalog.bags(collection, [(1, 0)]) == catalog.bags(collection, []) == {}
    assert list(catalog.bags(other, [(1, 0)])) == [(1, 0)]
