from __future__ import annotations

from dataclasses import replace

from kernelet.contracts.attention import Attention
from kernelet.contracts.executor import Communicator
from kernelet.contracts.op import WeightKernel
from kernelet.contracts.platform import Device, PlatformConfig
from kernelet.kernel.imports import import_string
from kernelet.worker.worker import ModelWorker
from kernelet_attention_triton.plugin import kernelet_attention_backends
from kernelet_platform_rocm import plugin


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
    assert kernel.required_features == {"rocm"}


def test_attention_in_triton_has_another_name_here():
    (alias,) = plugin.kernelet_attention_backends()
    (triton,) = kernelet_attention_backends()
    assert (alias.name, alias.required_features) == ("rocm_attn", {"rocm", "triton"})
    assert replace(alias, name="triton", priority=0, required_features=triton.required_features) == triton
    assert issubclass(import_string(alias.target), Attention)
    assert set(plugin.kernelet_options().schema) >= {"batch_invariant"}
