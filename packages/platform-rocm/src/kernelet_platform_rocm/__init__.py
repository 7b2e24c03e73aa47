"""The ROCm platform of Kernelet."""

from __future__ import annotations
