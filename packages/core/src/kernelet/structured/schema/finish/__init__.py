"""From conjunctions of facts to shapes."""

from __future__ import annotations
