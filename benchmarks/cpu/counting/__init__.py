"""Instructions of the native kernels, counted by callgrind."""

from __future__ import annotations
