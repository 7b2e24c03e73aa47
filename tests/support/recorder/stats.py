"""Notes that it is imported."""

from __future__ import annotations

from kernelet.testing.stat_logger.reference import CountingLogger
from recorder.notes import note

note("module", __name__)


class RecordedLogger(CountingLogger):
    """As it is."""
