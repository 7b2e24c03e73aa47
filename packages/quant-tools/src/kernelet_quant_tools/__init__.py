"""``kernelet quantize``: writes quantized checkpoints, by the writers that formats' plugins offer."""

from __future__ import annotations
