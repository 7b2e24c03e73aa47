"""A checkpoint in Hugging Face's form to what a file says and holds."""

from __future__ import annotations
