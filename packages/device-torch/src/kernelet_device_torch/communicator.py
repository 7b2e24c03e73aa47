"""Collectives between devices, over the backend that torch calls ``nccl`` whoever made the device."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from kernelet.errors import ConfigError
from kernelet.worker.process_group import PATIENCE, GroupCommunicator


class DeviceCommunicator(GroupCommunicator):
    """Each rank's tensors lie on a device of its own.

    What was called is ordered with later work on the device, and may be recorded in a graph; the host does not wait.
    """

    def make_group(self, store: Any, rank: int, world_size: int, host: str) -> Any:
        if not dist.is_nccl_available():
            raise ConfigError(
                "the installed torch was built without the backend 'nccl': install the build for this device, or name "
                "another with --communicator"
            )
        c10d: Any = dist  # it exports more than it says
        options = c10d.ProcessGroupNCCL.Options()
        options._timeout = PATIENCE  # noqa: SLF001
        return c10d.ProcessGroupNCCL(store, rank, world_size, options)

    def wait_for_all(self) -> None:
        options = dist.BarrierOptions()
        options.device_ids = [torch.accelerator.current_device_index()]
        self._group.barrier(options).wait()
