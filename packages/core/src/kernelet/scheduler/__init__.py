"""One token-budget loop for prefill and decode."""

from __future__ import annotations
