"""Contract versions, one (major, minor) a domain.

Adding a parameter or a method with a default raises the minor; anything a plugin could notice raises the
major. The core serves majors N and N-1.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple


class ApiVersion(NamedTuple):
    """A contract version, ordered as (major, minor)."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> ApiVersion:
        """Reads ``"1.0"`` or ``"v1"``.

        Raises:
            ValueError: if the text is neither.
        """
        major, _, minor = text.removeprefix("v").partition(".")
        return cls(int(major), int(minor or 0))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


API_VERSIONS = MappingProxyType(
    {
        "lifecycle": ApiVersion(1, 3),
        "platform": ApiVersion(1, 5),
        "attention": ApiVersion(1, 4),
        "op": ApiVersion(1, 4),
        "cache": ApiVersion(2, 2),
        "model": ApiVersion(1, 3),
        "quant": ApiVersion(1, 3),
        "kv": ApiVersion(1, 2),
        "executor": ApiVersion(1, 4),
        "sampling": ApiVersion(1, 2),
        "io": ApiVersion(1, 0),
        "parsing": ApiVersion(1, 1),
        "structured": ApiVersion(1, 0),
        "stats": ApiVersion(2, 3),
        "serving": ApiVersion(1, 2),
    }
)
"""What this core offers; the oldest major it serves of each domain is ``major - 1`` (never below 1)."""
