from __future__ import annotations

import subprocess
import sys

import pytest

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.platform import Capabilities
from kernelet.kernel.select.attention import why_not
from kernelet_attention_flashinfer import plugin

(OFFER,) = plugin.kernelet_attention_backends()
SPEC = {"kind": "full", "num_heads": 8, "num_kv_heads": 2, "head_size": 128, "dtype": "bfloat16", "scale": 0.1}
MISSING = "needs flashinfer-python>=0.2.3, which is not installed"


def reasons(capability, features=("cuda",), **changes):
    spec = AttentionSpec(**{**SPEC, "block_size": 16, **changes})
    platform = Capabilities(
        device_type="x",
        dtypes=("bfloat16",),
        memory_bytes=1,
        features=frozenset(features),
        compute_capability=capability,
    )
    return [reason for reason in why_not(OFFER, spec, platform).split("; ") if reason != MISSING]


@pytest.mark.parametrize(
    "capability, changes, reason",
    [
        ((8, 0), {}, None),
        ((12, 0), {"kind": "sliding", "window": 64, "soft_cap": 30.0}, None),
        ((9, 0), {"cache_dtype": "e4m3fn", "cache_scales": "tensor"}, None),
        ((7, 5), {}, "needs compute capability 8.0, here is 7.5"),
        ((9, 0), {"head_size": 96}, "takes head sizes 64, 128, 256, not 96"),
        ((9, 0), {"dtype": "float32"}, "takes float16, bfloat16, not float32"),
        ((9, 0), {"sinks": True}, "has no sinks"),
    ],
)
def test_rules(capability, changes, reason):
    assert reasons(capability, **changes) == ([reason] if reason else [])


def test_a_device_of_another_vendor():
    assert reasons((9, 0), ()) == ["needs the platform features cuda"]


def test_a_plugin_that_is_not_selected_imports_no_library():
    code = "import sys, kernelet_attention_flashinfer.plugin as p; p.kernelet_attention_backends(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"flashinfer", "torch"} & set(run.stdout.split())
