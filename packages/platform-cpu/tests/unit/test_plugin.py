from __future__ import annotations

import importlib
import subprocess
import sys

import kernelet.hookspecs
from kernelet.contracts.attention import Attention
from kernelet.contracts.executor import Worker
from kernelet.contracts.op import WeightKernel
from kernelet.contracts.platform import Device, PlatformConfig
from kernelet_platform_cpu import plugin


def load(target):
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def test_offers_lead_to_what_they_promise():
    (platform,) = plugin.kernelet_platforms()
    assert issubclass(load(platform.target), Device)
    assert issubclass(load(platform.config), PlatformConfig)
    assert issubclass(load(platform.worker), Worker)
    assert load(platform.probe)().available
    assert all(issubclass(load(offer.target), Attention) for offer in plugin.kernelet_attention_backends())
    assert all(issubclass(load(offer.target), WeightKernel) for offer in plugin.kernelet_weight_kernels())


def test_offers_are_equal_when_asked_twice():
    for hook in ("platforms", "attention_backends", "weight_kernels", "options"):
        function = getattr(plugin, f"kernelet_{hook}")
        assert function() == function()
        assert getattr(function, f"{kernelet.hookspecs.PROJECT}_impl") is not None


def test_importing_the_plugin_imports_no_torch():
    code = "import sys, kernelet_platform_cpu.plugin, kernelet_platform_cpu.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
