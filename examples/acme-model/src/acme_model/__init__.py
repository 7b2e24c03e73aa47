"""GPT-2 as a plugin of Kernelet."""

from __future__ import annotations
