"""Acme's platform for Kernelet."""

from __future__ import annotations
