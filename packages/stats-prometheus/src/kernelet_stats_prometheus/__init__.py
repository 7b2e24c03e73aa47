"""Statistics as Prometheus metrics."""

from __future__ import annotations
