import pytest
import torch

from training.data.digests import digest
from training.runs import cache
from training.runs.cache import load_or_compute


class Counting:
    """A frozen network with a memory of requests."""

    def __init__(self, scale=1.0):
        self.scale, self.asked = scale, []

    def __call__(self, items):
        self.asked += items
        return [torch.full((1 + item % 3, 2), self.scale * item) for item in items]


def digests(items):
    return [digest(str(item)) for item in items]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(cache, "SHARD", 4)
    monkeypatch.setattr(cache, "BATCH", 3)


def test_inputs_come_back_as_computed_and_are_computed_once(tmp_path):
    items, network = list(range(10)), Counting()
    for _ in range(2):
        inputs = load_or_compute(tmp_path, "key", items, digests(items), network)
        assert len(inputs) == 10
        for item, kept in zip(items, inputs, strict=True):
            assert torch.equal(kept, torch.full((1 + item % 3, 2), float(item)))
    assert network.asked == items


def test_another_key_or_item_is_computed_anew(tmp_path):
    items, network = list(range(8)), Counting()
    load_or_compute(tmp_path, "key", items, digests(items), network)
    doubled = load_or_compute(tmp_path, "other", items, digests(items), Counting(2.0))
    assert doubled[7].tolist() == [[14.0, 14.0]] * 2
    changed = [0, 1, 2, 3, 4, 5, 6, 70]
    inputs = load_or_compute(tmp_path, "key", changed, digests(changed), network)
    assert network.asked == [*range(8), 4, 5, 6, 70]  # only the shard that changed
    assert inputs[7].tolist() == [[70.0, 70.0]] * 2


def test_an_interrupted_computation_goes_on_where_it_stopped(tmp_path):
    items = list(range(10))

    class Failing(Counting):
        def __call__(self, items):
            if 6 in items:
                raise KeyboardInterrupt
            return super().__call__(items)

    with pytest.raises(KeyboardInterrupt):
        load_or_compute(tmp_path, "key", items, digests(items), Failing())
    network = Counting()
    assert len(load_or_compute(tmp_path, "key", items, digests(items), network)) == 10
    assert network.asked == [4, 5, 6, 7, 8, 9]


def test_indices_stay_whole_numbers_beyond_what_half_precision_holds(tmp_path):
    inputs = load_or_compute(
        tmp_path, "words", [0], ["a"], lambda _: [torch.tensor([[2049], [70001]])]
    )
    assert inputs[0].dtype == torch.int64
    assert inputs[0].tolist() == [[2049], [70001]]


def test_a_position_beyond_the_end_is_refused(tmp_path):
    inputs = load_or_compute(tmp_path, "key", [0], ["a"], Counting())
    with pytest.raises(IndexError, match="input 1 of 1"):
        inputs[1]


def test_boundaries_between_texts_count_in_a_digest():
    assert digest("ab", "c") != digest("a", "bc")
