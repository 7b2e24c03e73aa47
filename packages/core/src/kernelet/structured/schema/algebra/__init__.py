"""What schemas say, as disjunctions of conjunctions of facts, one type of value at a time."""

from __future__ import annotations
