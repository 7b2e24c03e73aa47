"""What each keyword says, as facts."""

from __future__ import annotations
