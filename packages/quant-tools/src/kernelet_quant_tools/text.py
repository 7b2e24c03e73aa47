"""The text that a model is calibrated on, as token ids."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from kernelet.errors import ConfigError
from kernelet.text.tokenizer import Tokenizer


def read_text(file: str | None) -> str:
    """The text of a file, or of a file of JSON lines with ``text``; without a file the text of Python's manual.

    Raises:
        ConfigError: it cannot be read.
    """
    if file is None:
        return python_manual()
    try:
        content = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--calibration {file}: it cannot be read as UTF-8 text: {error}") from error
    return "\n\n".join(texts_of(content, file)) if file.endswith(".jsonl") else content


def texts_of(content: str, file: str) -> list[str]:
    """``text`` of each line.

    Raises:
        ConfigError: a line has none; says which.
    """
    found = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            text = json.loads(line)["text"]
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f'--calibration {file}: line {number} is no object with "text"') from error
        if not isinstance(text, str):
            raise ConfigError(f'--calibration {file}: "text" of line {number} is no text')
        found.append(text)
    return found


def python_manual() -> str:
    """English prose and code that is everywhere: the language reference that ``help()`` shows.

    Raises:
        ConfigError: this Python lacks it.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise ConfigError(
            "this Python has no pydoc_data, the text that is used: give one, --calibration FILE"
        ) from error
    return "\n\n".join(topics[name] for name in sorted(topics))


def sequences(tokenizer: Tokenizer, text: str, samples: int, length: int) -> Tensor:
    """Pieces of a text, evenly spread over it.

    Args:
        tokenizer: The model's.
        text: All of it.
        samples: Pieces at most; fewer if the text is short.
        length: Tokens of each.

    Returns:
        int64 [pieces, length].

    Raises:
        ConfigError: the text has not even one piece.
    """
    ids = torch.tensor(tokenizer.encode(text), dtype=torch.int64)
    count = min(samples, len(ids) // length)
    if count == 0:
        raise ConfigError(
            f"the calibration text has {len(ids)} tokens, and a piece is of {length}: give a longer one with "
            f"--calibration FILE, or lower --seq-len"
        )
    starts = torch.linspace(0, len(ids) - length, count).long()
    return torch.stack([ids[start : start + length] for start in starts])
