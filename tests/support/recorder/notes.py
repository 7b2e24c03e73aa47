"""Lines of JSON in the file that RECORDER_FILE names."""

from __future__ import annotations

import json
import os


def note(kind: str, what: str) -> None:
    """Appends one line; a write of one is never mixed with another's."""
    line = json.dumps({"pid": os.getpid(), "kind": kind, "what": what}) + "\n"
    with open(os.environ["RECORDER_FILE"], "ab", buffering=0) as file:  # noqa: PTH123
        file.write(line.encode())
