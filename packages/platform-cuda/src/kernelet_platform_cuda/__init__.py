"""The CUDA platform of Kernelet."""

from __future__ import annotations
