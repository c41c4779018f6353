"""Workers: processes with parts of batches and equal weights.

Each worker encodes a part of a batch. All bags are gathered, so that every worker sees the loss of
the whole batch, with all of its negatives. Its gradient reaches a worker's weights through the
worker's own bags, and the sum over workers is the gradient of one process. They communicate by
torch.distributed: gloo between CPUs, NCCL between GPUs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.distributed.rendezvous import rendezvous

from models.threads import count_cores
from models.types import PaddedBags

RESTARTS = 3  # how often workers are started again after one was lost
PATIENCE = timedelta(days=2)  # the first may compute frozen features while the others wait
Value = TypeVar("Value")
MISTAKES = (ValueError, LookupError, ArithmeticError, OSError)


def count() -> int:
    """Return the number of workers: one, unless a group was joined."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """Return this worker's number, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def local_rank() -> int:
    """Return this worker's number on its machine, from 0."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def is_first() -> bool:
    """Return whether this worker writes files and measures."""
    return rank() == 0


def take_part(items: Sequence[Value]) -> Sequence[Value]:
    """Take this worker's part of a batch.

    Parts differ by one item at most.
    """
    return items[part_start(len(items), rank()) : part_start(len(items), rank() + 1)]


def part_start(size: int, number: int) -> int:
    """Return the first position of a worker's part of a batch."""
    return size * number // count()


def encode(encode: Callable[[Sequence[int]], PaddedBags], positions: Sequence[int]) -> PaddedBags:
    """Encode a batch, each position by its worker.

    Returns all bags in float32.

    Gradients pass through this worker's own bags.
    """
    part = take_part(positions)
    bags = encode(part or positions[:1])  # a worker without positions takes part with no bag
    vectors = bags.vectors.float()
    if count() == 1:
        return PaddedBags(vectors, bags.mask)
    return gather(PaddedBags(vectors[: len(part)], bags.mask[: len(part)]), len(positions))


def gather(bags: PaddedBags, size: int) -> PaddedBags:
    """Gather the bags (K, F, D) of all workers in order, `size` together."""
    parts = [part_start(size, number + 1) - part_start(size, number) for number in range(count())]
    longest = torch.tensor(bags.mask.shape[1], device=bags.mask.device)
    dist.all_reduce(longest, dist.ReduceOp.MAX)
    missing = int(longest) - bags.mask.shape[1], max(parts) - len(bags.mask)
    vectors = F.pad(bags.vectors, (0, 0, 0, missing[0], 0, missing[1]))
    mask = F.pad(bags.mask, (0, missing[0], 0, missing[1])).to(torch.uint8)
    all_vectors = [torch.empty_like(vectors) for _ in parts]
    dist.all_gather(all_vectors, vectors.detach().contiguous())
    all_vectors[rank()] = vectors
    masks = [torch.empty_like(mask) for _ in parts]
    dist.all_gather(masks, mask)
    return PaddedBags(
        torch.cat(
            [worker_vectors[:real] for worker_vectors, real in zip(all_vectors, parts, strict=True)]
        ),
        torch.cat(
            [worker_mask[:real] for worker_mask, real in zip(masks, parts, strict=True)]
        ).bool(),
    )


def add_gradients(model: nn.Module) -> None:
    """Give every worker the sum of all workers' gradients."""
    if count() == 1:
        return
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in trained:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    gradients = torch.cat(
        [parameter.grad.flatten() for parameter in trained if parameter.grad is not None]
    )
    dist.all_reduce(gradients)
    totals = torch.split(gradients, [parameter.numel() for parameter in trained])
    for parameter, total in zip(trained, totals, strict=True):
        parameter.grad = total.view_as(parameter)


def share_weights(model: nn.Module) -> None:
    """Give every worker the first one's weights and buffers.

    ValueError for batch normalisation, which would see only a part of a batch.
    """
    if count() == 1:
        return
    training = model.training
    normalised = [
        name
        for name, module in model.train().named_modules()
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.training
    ]
    model.train(training)
    if normalised:
        raise ValueError(
            f"{normalised[0]} normalises over a batch, and several workers have parts of it: "
            "leave --workers out"
        )
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.data, 0)


def compute_on_first(compute: Callable[[], Value]) -> Value:
    """Compute on the first worker for all.

    Its mistakes are raised in all.
    """
    if count() == 1:
        return compute()
    box: list[Any] = [_catch_mistake(compute) if is_first() else None]
    dist.broadcast_object_list(box)
    result: Value | Exception = box[0]
    return _unwrap(result)


def compute_after_first(compute: Callable[[], Value]) -> Value:
    """Compute on each worker after the first.

    As from a cache of files.
    """
    results: list[Value] = []
    compute_on_first(lambda: results.append(compute()))
    return results[0] if results else compute()


def gather_values(value: Tensor) -> list[Tensor]:
    """Gather each worker's value, in their order."""
    values: list[Any] = [None] * count()
    if count() == 1:
        return [value]
    dist.all_gather_object(values, value)
    return values


def wait() -> None:
    """Go on when all workers are here."""
    if count() > 1:
        dist.barrier()


def launch(workers: int, entry: Callable[..., Value], *arguments: Any) -> Value:
    """Run a function in new worker processes; return the first one's result.

    The function must be importable. Its arguments are whether the workers were restarted after a
    loss, and `arguments`. Its MISTAKES are raised here.
    ChildProcessError when workers are lost repeatedly.
    """
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=workers,
        run_id="tessera",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=RESTARTS,
        monitor_interval=0.5,
        start_method="spawn",
    )
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, count_cores() // workers)))
    try:
        results = elastic_launch(config, _join)(entry, arguments)
    except ChildFailedError as lost:
        raise ChildProcessError(f"workers were lost {RESTARTS + 1} times: {lost}") from lost
    result: Value | Exception = results[0]
    return _unwrap(result)


def _join(entry: Callable[..., Value], arguments: Sequence[Any]) -> Value | Exception:
    """Join the group of workers, and run the function; mistakes are returned."""
    # Tensors on a GPU go by NCCL, others by gloo.
    backends = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    store, number, size = next(rendezvous("env://", timeout=PATIENCE))
    # What lost workers left in the store is for none of these, who would wait for it for ever.
    store = PrefixStore(f"attempt {attempt}", store)
    dist.init_process_group(backends, timeout=PATIENCE, world_size=size, rank=number, store=store)
    try:
        return _catch_mistake(lambda: entry(attempt > 0, *arguments))
    finally:
        dist.destroy_process_group()


def _catch_mistake(compute: Callable[[], Value]) -> Value | Exception:
    try:
        return compute()
    except MISTAKES as mistake:
        return mistake


def _unwrap(result: Value | Exception) -> Value:
    if isinstance(result, Exception):
        raise result
    return result
