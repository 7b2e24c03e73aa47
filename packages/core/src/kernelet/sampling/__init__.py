"""From logits to tokens. A row's result depends on its own logits, parameters and history only, bit for bit."""

from __future__ import annotations
