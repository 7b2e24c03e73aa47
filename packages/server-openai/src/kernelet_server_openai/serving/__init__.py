"""Requests to engine calls, outputs to answers."""

from __future__ import annotations
