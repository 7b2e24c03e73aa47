"""The ranks of a model: how a worker joins them, and how they learn what the first one sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kernelet.contracts.executor import Communicator, CommunicatorOffer, ScheduledRequest, WorkerContext
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.plugins import Owned
from kernelet.errors import ConfigError, PluginError
from kernelet.layers.context import SINGLE_RANK, TensorParallel
from kernelet.sampling.sampler import Outcome
from kernelet.worker.batch import BatchState

NOTHING = -1
FAILED = -2


def join_ranks(context: WorkerContext) -> TensorParallel:
    """Meets the other ranks, through the communicator that is named, else the platform's.

    Raises:
        ConfigError: the platform has none, and none is named.
        SelectionError: there is none of that name.
        PluginError: the target is no communicator.
    """
    if context.world_size == 1:
        return SINGLE_RANK
    owned, target = _communicator(context)
    kind = context.plugins.load(owned, target)
    if not (isinstance(kind, type) and issubclass(kind, Communicator)):
        raise PluginError(
            f"{owned.plugin}: {target or owned.offer.target} of offer {owned.offer.name!r} is no Communicator"
        )
    settings = context.plugins.settings(owned.plugin)
    communicator: Communicator = kind(settings, context.rank, context.world_size, context.address)
    return TensorParallel(rank=context.rank, size=context.world_size, communicator=communicator)


def tell_ranks(
    parallel: TensorParallel,
    device: Any,
    scheduled: Sequence[ScheduledRequest],
    batch: BatchState,
    outcomes: Mapping[str, Outcome],
) -> None:
    """Rank 0 tells what became of a step's requests; the others take it up, so that all go on with the same.

    Args:
        parallel: The ranks.
        device: Where tensors live.
        scheduled: The step's requests; the same on every rank.
        batch: Of the ranks that learn, appended to and marked.
        outcomes: On rank 0, what was sampled.
    """
    if parallel.communicator is None or not scheduled:
        return
    codes = torch.full((len(scheduled),), NOTHING, dtype=torch.int64)
    if parallel.rank == 0:
        codes = torch.tensor([_code(batch, entry.request_id, outcomes) for entry in scheduled], dtype=torch.int64)
    heard = parallel.communicator.broadcast(codes.to(device), source=0)
    if parallel.rank == 0:
        return
    for entry, code in zip(scheduled, heard.tolist(), strict=True):
        held = batch[entry.request_id]
        if code == FAILED:
            held.error = held.error or "it failed on rank 0"
        elif code != NOTHING:
            batch.append(held, code)


def _code(batch: BatchState, request_id: str, outcomes: Mapping[str, Outcome]) -> int:
    outcome = outcomes.get(request_id)
    if batch[request_id].error is not None or (outcome is not None and outcome.error is not None):
        return FAILED
    return NOTHING if outcome is None else outcome.token


def _communicator(context: WorkerContext) -> tuple[Owned[Any], str | None]:
    """An offer, and which of its import strings is the communicator's; None: its target."""
    plugins, name = context.plugins, context.config.parallel.communicator
    if name is not None:
        return plugins.select(CommunicatorOffer, name).chosen, None
    platform = plugins.select(PlatformOffer, context.platform.name).chosen
    if platform.offer.communicator:
        return platform, platform.offer.communicator
    offered = ", ".join(owned.offer.name for owned in plugins.offers(CommunicatorOffer)) or "none"
    raise ConfigError(
        f"the platform {context.platform.name!r} has no communicator for {context.world_size} ranks: name one with "
        f"--communicator (installed: {offered}), or use --tensor-parallel-size 1"
    )
