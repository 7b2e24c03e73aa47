"""A watermark in generated text, as a plugin of Kernelet."""

from __future__ import annotations
