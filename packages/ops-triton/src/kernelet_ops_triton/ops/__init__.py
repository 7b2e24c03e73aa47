"""Ops of the ladder (``kernelet.layers.ops``, ``kernelet.sampling.ops``)."""

from __future__ import annotations
