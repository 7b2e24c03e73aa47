"""Collectives of devices, over gloo on the host."""

from __future__ import annotations

import torch.distributed as dist

from kernelet.worker.process_group import GroupCommunicator
from kernelet_device_torch.communicator import DeviceCommunicator


class OverGloo(DeviceCommunicator):
    def make_group(self, store, rank, world_size, host):
        options = dist.ProcessGroupGloo._Options()
        options._devices = [dist.ProcessGroupGloo.create_device(hostname=host)]
        return dist.ProcessGroupGloo(store, rank, world_size, options)

    def wait_for_all(self):
        GroupCommunicator.wait_for_all(self)
