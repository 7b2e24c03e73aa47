"""A server that speaks OpenAI's API."""

from __future__ import annotations
