"""Weight kernels: the suite and the reference."""

from __future__ import annotations
