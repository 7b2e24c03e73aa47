"""Notes that it is imported."""

from __future__ import annotations

from kernelet.contracts.sampling import LogitsProcessor
from recorder.notes import note

note("module", __name__)


class RecordedProcessor(LogitsProcessor):
    """Changes nothing."""

    def add_request(self, request_id, arguments, prompt_token_ids):
        return False

    def apply(self, logits, rows):
        return logits
