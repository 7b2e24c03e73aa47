"""The demo model of Kernelet."""

from __future__ import annotations
