"""Decoder-only model families for Kernelet, described as data."""

from __future__ import annotations
