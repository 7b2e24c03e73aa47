"""Text in and text out: tokenizer, incremental detokenizer, stop strings, chat templates. No torch."""

from __future__ import annotations
