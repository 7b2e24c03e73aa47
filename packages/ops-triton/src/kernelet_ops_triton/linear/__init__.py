"""Weight kernels (``kernelet.contracts.op``)."""

from __future__ import annotations
