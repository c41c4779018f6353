"""Messages between a web process and the servers of shards: values as bytes, packed once for all.

Both sides run the same release. What a tensor holds is packed as numpy does it: torch writes an
archive for each, which takes longer than a shard's search.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from typing import Any

import torch
from torch import Tensor


class _Packer(pickle.Pickler):
    dispatch_table = copyreg.dispatch_table | {
        Tensor: lambda tensor: (torch.from_numpy, (tensor.detach().cpu().numpy(),)),
    }


def packed(value: Any) -> bytes:
    """A value as bytes."""
    file = io.BytesIO()
    _Packer(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def unpacked(message: bytes) -> Any:
    """The value of a message that one of our own processes packed."""
    return pickle.loads(message)  # noqa: S301
