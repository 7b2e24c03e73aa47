"""Steps that are recorded once and replayed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class GraphConfig:
    """What a platform with the feature ``"graphs"`` records.

    Attributes:
        enforce_eager: Record nothing: every step is launched kernel by kernel.
        max_capture_size: Requests of a decode step that is replayed at most; larger ones are launched.
    """

    enforce_eager: bool = False
    max_capture_size: int = 256
