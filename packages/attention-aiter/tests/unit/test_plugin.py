from __future__ import annotations

import subprocess
import sys

import pytest

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.platform import Capabilities
from kernelet.kernel.select.attention import why_not
from kernelet_attention_aiter import plugin

(OFFER,) = plugin.kernelet_attention_backends()
SPEC = {"kind": "full", "num_heads": 8, "num_kv_heads": 2, "head_size": 128, "dtype": "bfloat16", "scale": 0.1}
MISSING = "needs amd-aiter>=0.1.5, which is not installed"


def reasons(features=("rocm", "cdna3"), **changes):
    spec = AttentionSpec(**{**SPEC, "block_size": 16, **changes})
    platform = Capabilities(device_type="x", dtypes=("bfloat16",), memory_bytes=1, features=frozenset(features))
    return [reason for reason in why_not(OFFER, spec, platform).split("; ") if reason != MISSING]


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({}, None),
        ({"kind": "sliding", "window": 64, "soft_cap": 30.0}, None),
        ({"features": ["rocm"]}, "needs the platform features cdna3"),
        ({"head_size": 64}, "takes head sizes 128, 256, not 64"),
        ({"block_size": 8}, "needs a block size that 16 divides, not 8 (--block-size 16)"),
        ({"sinks": True}, "has no sinks"),
    ],
)
def test_rules(changes, reason):
    assert reasons(**changes) == ([reason] if reason else [])


def test_a_device_of_another_vendor():
    assert reasons(()) == ["needs the platform features cdna3, rocm"]


def test_a_plugin_that_is_not_selected_imports_no_library():
    code = "import sys, kernelet_attention_aiter.plugin as p; p.kernelet_attention_backends(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"aiter", "torch"} & set(run.stdout.split())
