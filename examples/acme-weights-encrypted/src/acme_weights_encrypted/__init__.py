"""Encrypted weights, as a plugin of Kernelet."""

from __future__ import annotations
