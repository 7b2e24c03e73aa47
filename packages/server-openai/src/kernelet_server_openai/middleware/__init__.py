"""What every request passes."""

from __future__ import annotations
