"""What all connectors of the protocol register."""

from __future__ import annotations

from kernelet_kv_transfer.options import options
from kernelet_kv_transfer.params import KEYS

__all__ = ["KEYS", "options"]
