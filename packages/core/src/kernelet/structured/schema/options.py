"""How JSON is written, beyond what its schema says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class JsonOptions:
    """Choices of whoever asks.

    Attributes:
        max_whitespace: Most characters of whitespace between two tokens; 0: compact.
        additional_properties: Whether an object may have properties that its schema does not name, where the schema
            does not say; None: as JSON Schema has it, it may.
    """

    max_whitespace: int = 8
    additional_properties: bool | None = None
