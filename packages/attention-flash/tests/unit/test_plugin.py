from __future__ import annotations

import subprocess
import sys

import pytest

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.platform import Capabilities
from kernelet.kernel.select.attention import why_not
from kernelet_attention_flash import plugin

OFFERS = {offer.name: offer for offer in plugin.kernelet_attention_backends()}
SPEC = {"kind": "full", "num_heads": 8, "num_kv_heads": 2, "head_size": 128, "dtype": "bfloat16", "scale": 0.1}
MISSING = {"flash": "flash-attn>=2.6", "flash-3": "flash-attn-3>=3.0.0b1", "flash-4": "flash-attn-4>=4.0.0b1"}


def reasons(name, capability=(9, 0), features=("cuda",), **changes):
    spec = AttentionSpec(**{**SPEC, "block_size": 256, **changes})
    platform = Capabilities(
        device_type="x",
        dtypes=("bfloat16",),
        memory_bytes=1,
        features=frozenset(features),
        compute_capability=capability,
    )
    found = why_not(OFFERS[name], spec, platform).split("; ")
    return [reason for reason in found if reason != f"needs {MISSING[name]}, which is not installed"]


@pytest.mark.parametrize(
    "name, capability, changes, reason",
    [
        ("flash", (8, 0), {}, None),
        ("flash", (12, 0), {"head_size": 80}, None),
        ("flash", (7, 5), {}, "needs compute capability 8.0, here is 7.5"),
        ("flash", (9, 0), {"block_size": 16}, "needs a block size that 256 divides, not 16 (--block-size 256)"),
        ("flash", (9, 0), {"dtype": "float32"}, "takes float16, bfloat16, not float32"),
        ("flash", (9, 0), {"sinks": True}, "has no sinks"),
        ("flash-3", (9, 0), {"block_size": 16, "soft_cap": 30.0}, None),
        ("flash-3", (10, 0), {}, "needs compute capability 9.0 to 9.0, here is 10.0"),
        ("flash-3", (9, 0), {"head_size": 80}, "takes head sizes 64, 96, 128, 192, 256, not 80"),
        ("flash-4", (10, 0), {"kind": "sliding", "window": 64}, None),
        ("flash-4", (9, 0), {}, "needs compute capability 10.0 to 11.0, here is 9.0"),
        ("flash-4", (10, 0), {"block_size": 64}, "needs a block size that 128 divides, not 64 (--block-size 128)"),
    ],
)
def test_rules(name, capability, changes, reason):
    assert reasons(name, capability, **changes) == ([reason] if reason else [])


def test_a_device_of_another_vendor():
    assert reasons("flash", (9, 4), ("rocm",)) == ["needs the platform features cuda"]


def test_a_plugin_that_is_not_selected_imports_no_library():
    code = "import sys, kernelet_attention_flash.plugin as p; p.kernelet_attention_backends(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"flash_attn", "torch"} & set(run.stdout.split())
