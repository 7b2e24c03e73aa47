from __future__ import annotations

from kernelet.contracts.executor import Communicator
from kernelet.contracts.op import WeightKernel
from kernelet.contracts.platform import Device, PlatformConfig
from kernelet.kernel.imports import import_string
from kernelet.worker.worker import ModelWorker
from kernelet_platform_cuda import plugin


def test_targets_are_what_the_contracts_ask_for():
    (platform,) = plugin.kernelet_platforms()
    assert issubclass(import_string(platform.target), Device)
    assert issubclass(import_string(platform.config), PlatformConfig)
    assert import_string(platform.worker) is ModelWorker
    assert callable(import_string(platform.probe))
    (communicator,) = plugin.kernelet_communicators()
    assert communicator.target == platform.communicator
    assert issubclass(import_string(communicator.target), Communicator)
    (kernel,) = plugin.kernelet_weight_kernels()
    assert issubclass(import_string(kernel.target), WeightKernel)
    assert kernel.required_features == {"cuda"}
