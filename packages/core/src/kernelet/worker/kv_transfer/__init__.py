"""This rank's side of KV connectors: pages that they read and write, and what they are called with in each step."""

from __future__ import annotations
