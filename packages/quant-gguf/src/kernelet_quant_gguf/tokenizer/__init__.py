"""The tokenizer of a file, in the form of tokenizer.json and tokenizer_config.json."""

from __future__ import annotations
