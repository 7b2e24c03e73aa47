"""A collective as plain data: what each rank gives, does, and must get."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from kernelet.contracts.executor import Communicator

Op = Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast", "send"]

LATE = 0.1
"""Seconds that a late rank sleeps before its call."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One collective, the same on every rank.

    Attributes:
        op: ``"send"``: ``source`` sends, ``destination`` receives, others do nothing.
        shape: What each rank gives.
        seed: Of the values.
        axis: Of ``all_gather`` and ``reduce_scatter``.
        strided: The tensor that a rank gives lies in memory with gaps.
        late: A rank that comes later than the others.
    """

    op: Op
    dtype: str = "float32"
    shape: tuple[int, ...] = (4, 6)
    seed: int = 0
    axis: int = -1
    source: int = 0
    destination: int = 1
    strided: bool = False
    late: int | None = None


def given(call: Call, rank: int) -> Tensor:
    """What a rank gives, on the host. Sums of three such values depend on the order of adding."""
    generator = torch.Generator().manual_seed(1000 * call.seed + rank)
    dtype: torch.dtype = getattr(torch, call.dtype)
    shape = (*call.shape, 2) if call.strided else call.shape
    if dtype.is_floating_point:
        scale = 10.0 ** torch.randint(-2, 3, shape, generator=generator)
        values = (torch.randn(shape, generator=generator, dtype=torch.float64) * scale).to(dtype)
    else:
        values = torch.randint(-50, 50, shape, generator=generator).to(dtype)
    return values[..., 0] if call.strided else values


def perform(communicator: Communicator, rank: int, device: torch.device, call: Call) -> tuple[Tensor, ...]:
    """Makes a rank's part of a call.

    Returns:
        What came back; of ``recv`` also the tensor that was to be filled; nothing for a rank that only sends or idles.
    """
    tensor = given(call, rank).to(device) if not call.strided else _strided(call, rank, device)
    if call.late == rank:
        time.sleep(LATE)
    if call.op == "all_reduce":
        return (communicator.all_reduce(tensor),)
    if call.op == "all_gather":
        return (communicator.all_gather(tensor, axis=call.axis),)
    if call.op == "reduce_scatter":
        return (communicator.reduce_scatter(tensor, axis=call.axis),)
    if call.op == "broadcast":
        return (communicator.broadcast(tensor, source=call.source),)
    if rank == call.source:
        communicator.send(tensor, call.destination)
    elif rank == call.destination:
        buffer = torch.zeros_like(tensor)
        return (communicator.recv(buffer, call.source), buffer)
    return ()


def expected(call: Call, size: int) -> list[tuple[Tensor, ...]]:
    """What each rank must get, by rank."""
    parts = [given(call, rank) for rank in range(size)]
    if call.op == "all_reduce":
        return [(add_up(parts),)] * size
    if call.op == "all_gather":
        return [(torch.cat(parts, call.axis),)] * size
    if call.op == "reduce_scatter":
        return [(piece,) for piece in add_up(parts).tensor_split(size, call.axis)]
    if call.op == "broadcast":
        return [(parts[call.source],)] * size
    sent = parts[call.source]
    return [(sent, sent) if rank == call.destination else () for rank in range(size)]


def add_up(parts: Sequence[Tensor], dtype: torch.dtype | None = None) -> Tensor:
    """The sum in rank order.

    Args:
        parts: By rank.
        dtype: In which it is added up, before it is rounded to the parts' own; None: their own.
    """
    total = parts[0].to(dtype or parts[0].dtype)
    for part in parts[1:]:
        total = total + part
    return total.to(parts[0].dtype)


def script(
    communicator: Communicator, rank: int, device: torch.device, calls: Sequence[Call]
) -> list[list[tuple[Any, ...]]]:
    """Makes calls one after the other.

    Returns:
        For each call its results as they came, and then, as they are once all calls were made.
    """
    results = [(found := perform(communicator, rank, device, call), pack_all(found)) for call in calls]
    return [[*at_once, *pack_all(found)] for found, at_once in results]


def pack(tensor: Tensor) -> tuple[str, tuple[int, ...], str, bytes]:
    """A tensor as plain data: dtype, shape, type of its device, bytes."""
    host = tensor.detach().cpu().contiguous()
    data = host.flatten().view(torch.uint8).numpy().tobytes()
    return str(host.dtype).removeprefix("torch."), tuple(host.shape), tensor.device.type, data


def unpack(packed: tuple[str, tuple[int, ...], str, bytes]) -> Tensor:
    """The tensor, on the host."""
    dtype, shape, _, data = packed
    kind: torch.dtype = getattr(torch, dtype)
    if not data:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(bytearray(data), dtype=kind).reshape(shape)


def pack_all(results: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Results as plain data; what is no tensor has a name for a dtype and nothing else."""
    return [pack(one) if isinstance(one, Tensor) else (type(one).__name__, (), "", b"") for one in results]


def _strided(call: Call, rank: int, device: torch.device) -> Tensor:
    whole = given(call, rank)
    room = torch.zeros((*whole.shape, 2), dtype=whole.dtype, device=device)
    room[..., 0] = whole.to(device)
    return room[..., 0]
