from __future__ import annotations

import sys

from kernelet_attention_triton import plugin


def test_offer():
    (offer,) = plugin.kernelet_attention_backends()
    assert offer.name == "triton"
    assert offer.required_features == {"triton"}
    assert offer.kinds == {"full", "sliding", "mla", "tree"}


def test_op():
    (offer,) = plugin.kernelet_ops()
    assert (offer.op, offer.required_features) == ("qkv_rope_write", {"triton"})


def test_options_are_off_by_default():
    assert [(name, option.default) for name, option in plugin.kernelet_options().schema.items()] == [
        ("batch_invariant", False)
    ]


def test_a_plugin_that_is_not_selected_imports_no_compiler():
    import subprocess

    code = "import sys, kernelet_attention_triton.plugin as p; p.kernelet_attention_backends(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"triton", "torch"} & set(run.stdout.split())
