"""Notes that it is imported."""

from __future__ import annotations

from kernelet.scheduler.policies import FCFSPolicy
from recorder.notes import note

note("module", __name__)


class RecordedPolicy(FCFSPolicy):
    """As it is."""
