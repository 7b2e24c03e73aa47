"""Notes that it is imported."""

from __future__ import annotations

from kernelet.testing.server.reference import ReferenceServer
from recorder.notes import note

note("module", __name__)


class RecordedServer(ReferenceServer):
    """As it is."""
