"""Records of the log as text."""

from __future__ import annotations

import logging
import re

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""What moves a terminal's cursor or ends a line somewhere, but for newline and tab."""


class LineFormatter(logging.Formatter):
    """Only a record begins a line: whatever a client or peer had written into one is indented, or escaped."""

    def format(self, record: logging.LogRecord) -> str:
        text = CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), super().format(record))
        return text.replace("\n", "\n  ")
