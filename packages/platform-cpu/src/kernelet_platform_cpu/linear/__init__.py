"""Weight kernels of the CPU: our own where the extension was built, and torch's."""

from __future__ import annotations
