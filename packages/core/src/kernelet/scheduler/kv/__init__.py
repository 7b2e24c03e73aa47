"""KV connectors as the scheduler sees them: what is asked, what is open, and which blocks that holds."""

from __future__ import annotations
