"""What runs on the device and more than one package needs."""

from __future__ import annotations
