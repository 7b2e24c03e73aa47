"""GGUF files as models: their weights, tokenizer and configuration, and a writer."""

from __future__ import annotations
