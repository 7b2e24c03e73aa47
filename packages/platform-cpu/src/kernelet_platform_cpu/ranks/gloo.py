"""Collectives over gloo, on tensors of the host."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist

from kernelet.worker.process_group import PATIENCE, GroupCommunicator

LOOPBACK = ("127.0.0.1", "localhost")


class GlooCommunicator(GroupCommunicator):
    """Ranks talk over sockets."""

    def make_group(self, store: Any, rank: int, world_size: int, host: str) -> Any:
        c10d: Any = dist  # it exports more than it says
        options = c10d.ProcessGroupGloo._Options()  # noqa: SLF001 - the only way to name the network
        options._timeout = PATIENCE  # noqa: SLF001
        options._devices = [network(host)]  # noqa: SLF001
        return c10d.ProcessGroupGloo(store, rank, world_size, options)


def network(host: str) -> Any:
    """The interface over which a rank talks to others; untold, gloo looks the host's own name up, which often fails."""
    kind = dist.ProcessGroupGloo
    return kind.create_device(hostname=host) if host in LOOPBACK else kind.create_default_device()
