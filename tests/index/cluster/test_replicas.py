"""Replicas: a lost one is tried again soon."""

from __future__ import annotations

from time import monotonic

import pytest


def test_a_replica_that_does_not_answer_a_question_is_probed_soon():
    replicas = pytest.importorskip("index.cluster.replicas", exc_type=ImportError)
    later = monotonic() + 1000
    replica = replicas.Replica(0, "shard 0", b"a key", 1.0, up=True, due=later)
    replica.lose(EOFError())
    assert not replica.up
    assert replica.due <= monotonic() + replicas.PROBING
    assert later > replica.due
