"""Shapes of random models that several ranks can share, and the ranks' processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

NARROW: dict[str, Any] = {
    "vocab_size": 208,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "hidden_size": 64,
}
WIDE: dict[str, Any] = {
    "vocab_size": 512,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "num_hidden_layers": 3,
}
"""SmolLM2's width."""

OPTIONS: dict[str, Any] = {
    "dtype": "float64",
    "max_model_len": 280,
    "num_blocks": 100,
    "max_num_batched_tokens": 64,
    "block_size": 16,
}


def workers() -> list[int]:
    """Process ids of workers that this process has, by rank."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == os.getpid() and b"kernelet.executor.multiprocess.process" in command:
                found.append(int(entry.name))
    return sorted(found)
