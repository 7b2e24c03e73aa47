from __future__ import annotations

import subprocess
import sys

from kernelet_attention_flex import plugin


def test_offer():
    (offer,) = plugin.kernelet_attention_backends()
    assert (offer.name, offer.required_features) == ("flex", {"flex"})
    assert offer.priority < 0


def test_options():
    assert [(name, option.default) for name, option in plugin.kernelet_options().schema.items()] == [
        ("compile", "auto")
    ]


def test_a_plugin_that_is_not_selected_imports_no_torch():
    code = "import sys, kernelet_attention_flex.plugin as p; p.kernelet_attention_backends(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "torch" not in run.stdout.split()
