"""How plugins register: looked at in a process that imports nothing else, neither pytest nor a suite."""

from __future__ import annotations
