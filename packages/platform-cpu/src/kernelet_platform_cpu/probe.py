"""Whether the CPU platform can run here."""

from __future__ import annotations

from importlib.util import find_spec

from kernelet.contracts.platform import Probe


def probe() -> Probe:
    """Available wherever torch is installed; imports nothing."""
    if find_spec("torch") is None:
        return Probe(available=False, reason="torch is not installed; pip install torch")
    return Probe(available=True, reason="a processor is always there", priority=0)
