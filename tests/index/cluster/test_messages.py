"""Messages between processes: values come back as they were."""

from __future__ import annotations

import numpy as np
import torch

from index.cluster.connections import pack, unpack
from index.search.contenders import NONE, ShardAnswer
from index.search.requests import Request
from models.text.queries import Query


def test_a_request_comes_back_as_it_was(sentence_bag, image_bag):
    query = Query((sentence_bag(3), sentence_bag(2)), (1.0, -0.4), "a text", ("a note",))
    for request in (
        Request("images", query, limit=7, where={"n": [1, "two"]}, least=0.25),
        Request("sentences", Query.of(image_bag(4)), exact=True),
    ):
        assert len(request.query.bag) == sum(map(len, request.query.parts))  # and keeps it
        message = pack(request)
        came = unpack(message)
        for part, was in zip(came.query.parts, request.query.parts, strict=True):
            assert torch.equal(part.vectors, was.vectors)
            assert (part.places, part.labels) == (was.places, was.labels)
        assert (came.where, came.least, came.exact) == (request.where, request.least, request.exact)
        numbers = sum(part.vectors.numel() for part in request.query.parts)
        assert len(message) < 4 * numbers + 2_000


def test_an_answer_comes_back_as_it_was():
    answer = ShardAnswer(NONE, exact=True, candidates=3, rows=4, revision=5, gone=True)
    came = unpack(pack(answer))
    assert (came.candidates, came.rows, came.revision, came.gone) == (3, 4, 5, True)
    assert came.contenders.total.dtype == np.float32
