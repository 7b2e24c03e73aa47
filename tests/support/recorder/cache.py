"""Notes that it is imported."""

from __future__ import annotations

from kernelet.cache.eviction import LRUPolicy
from recorder.notes import note

note("module", __name__)


class RecordedEviction(LRUPolicy):
    """As it is."""
