"""What platforms on devices of torch share."""

from __future__ import annotations
