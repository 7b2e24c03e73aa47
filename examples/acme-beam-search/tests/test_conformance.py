from __future__ import annotations

from acme_beam_search.conformance import TestSearchOrder

__all__ = ["TestSearchOrder"]
