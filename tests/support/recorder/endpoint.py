"""Notes that it is imported."""

from __future__ import annotations

from kernelet.testing.endpoint.reference import ReferenceEndpoint
from recorder.notes import note

note("module", __name__)


class RecordedEndpoint(ReferenceEndpoint):
    """As it is."""
