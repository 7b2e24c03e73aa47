"""The paged KV cache: pools, prefix index, groups, and their sizes."""

from __future__ import annotations
