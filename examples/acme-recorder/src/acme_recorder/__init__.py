"""A recorder of finished requests, as a plugin of Kernelet."""

from __future__ import annotations
