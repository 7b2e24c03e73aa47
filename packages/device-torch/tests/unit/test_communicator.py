from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from over_gloo import OverGloo

from kernelet.contracts.executor import CommunicatorOffer
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.communicator import CommunicatorCapabilities, CommunicatorSuite
from kernelet.testing.communicator.ranks import free_address
from kernelet.testing.offered import Offered
from kernelet_device_torch.communicator import DeviceCommunicator

SETTINGS = Settings(plugin="x")


class TestOverGloo(CommunicatorSuite):
    """The same class with another backend, on tensors of the host."""

    capabilities = CommunicatorCapabilities(world_size=2, dtypes=("float32", "float16", "bfloat16", "int64"))

    @pytest.fixture
    def offered(self):
        offer = CommunicatorOffer(name="over-gloo", target="over_gloo:OverGloo")
        return Offered(offer=offer, settings=SETTINGS, target=OverGloo)


def test_a_build_without_the_backend_says_so():
    if dist.is_nccl_available():
        pytest.skip("torch was built with it")
    with pytest.raises(ConfigError, match=r"without the backend 'nccl'.*--communicator"):
        DeviceCommunicator(SETTINGS, 0, 1, free_address())


def test_the_group_is_of_the_backend_and_left_together(monkeypatch):
    made, barriers = [], []

    class Group:
        class Options:
            _timeout = None

        def __init__(self, store, rank, size, options):
            made.append((rank, size, options._timeout))

        def barrier(self, options):
            barriers.append(list(options.device_ids))
            return SimpleNamespace(wait=lambda: None)

        def shutdown(self):
            barriers.append("left")

    monkeypatch.setattr(dist, "is_nccl_available", lambda: True)
    monkeypatch.setattr(dist, "ProcessGroupNCCL", Group, raising=False)
    monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 3)
    DeviceCommunicator(SETTINGS, 0, 1, free_address()).close()
    assert made == [(0, 1, timedelta(minutes=30))]
    assert barriers == [[3], "left"]
