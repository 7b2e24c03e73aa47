"""Grammar engines: the suite."""

from __future__ import annotations
