"""Activation steering for Kernelet."""

from __future__ import annotations
