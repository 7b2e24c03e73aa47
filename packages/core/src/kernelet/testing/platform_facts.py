"""What a platform does to a fresh process, as plain data: called in an interpreter of its own."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities, PlatformConfig, Probe
from kernelet.kernel.imports import import_string

Values = Mapping[str, bool | int | float | str | None]


def config_facts(probe: str, config: str, plugin: str, values: Values, folder: str) -> dict[str, Any]:
    """Calls a probe twice, then makes a ``PlatformConfig`` and asks what a frontend asks.

    Args:
        probe: Import string of the probe.
        config: Import string of the class.
        plugin: Name of the plugin.
        values: Its settings.
        folder: Empty; the working folder meanwhile.
    """
    os.chdir(folder)
    before = _traces()
    start = time.perf_counter()
    function = import_string(probe)
    answers = [function()]
    seconds = time.perf_counter() - start
    answers.append(function())
    left = _left(before, folder)
    made = import_string(config)(Settings(plugin=plugin, values=dict(values)))
    capabilities = made.capabilities()
    return {
        "seconds": seconds,
        "answers": [asdict(answer) if isinstance(answer, Probe) else None for answer in answers],
        "left": left,
        "is_config": isinstance(made, PlatformConfig) and isinstance(capabilities, Capabilities),
        "order": list(made.attention_order()),
    }


def device_facts(target: str, plugin: str, values: Values, device_type: str, folder: str) -> dict[str, Any]:
    """Makes devices of two ranks without taking them.

    Args:
        target: Import string of the ``Device`` class.
        plugin: Name of the plugin.
        values: Its settings.
        device_type: As its capabilities say.
        folder: Empty; the working folder meanwhile.

    Returns:
        What differs afterwards, in words.
    """
    os.chdir(folder)
    device = import_string(target)
    torch = sys.modules.get("torch")
    before, state = _traces(), _torch_state(torch, device_type)
    settings = Settings(plugin=plugin, values=dict(values))
    made = [device(settings, rank) for rank in range(2)]
    now = _torch_state(torch, device_type)
    changed = [name for name in state if state[name] != now[name]]
    return {"changed": [*changed, *_left(before, folder)], "made": len(made)}


def _traces() -> dict[str, int]:
    return {"threads": threading.active_count(), "open files": _open_files(), "child processes": _children()}


def _left(before: Mapping[str, int], folder: str) -> list[str]:
    after = _traces()
    files = ["files in the working folder"] if any(Path(folder).iterdir()) else []
    return [*(name for name in before if after[name] > before[name]), *files]


def _open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def _children() -> int:
    file = Path(f"/proc/self/task/{os.getpid()}/children")
    return len(file.read_text(encoding="ascii").split()) if file.is_file() else 0


def _torch_state(torch: Any, device_type: str) -> dict[str, Any]:
    """What making a device must leave alone."""
    if torch is None:
        return {}
    return {
        "torch's default dtype": str(torch.get_default_dtype()),
        "torch's threads": torch.get_num_threads(),
        "torch's generator": torch.get_rng_state().tolist(),
        "the device's context": _is_initialized(torch, device_type),
    }


def _is_initialized(torch: Any, device_type: str) -> bool | None:
    """Whether torch holds the device already; None where it does not say."""
    try:
        module = torch.get_device_module(device_type)
    except (RuntimeError, AttributeError):
        try:
            module = importlib.import_module(f"torch.{device_type}")
        except ImportError:
            return None
    asked = getattr(module, "is_initialized", None)
    return bool(asked()) if callable(asked) else None
