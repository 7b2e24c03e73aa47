"""The worker of platforms that run models with torch: batch state, inputs, the model's step, sampling."""

from __future__ import annotations
