"""Reads the text files of a model folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kernelet.errors import TokenizerError

if TYPE_CHECKING:
    from pathlib import Path


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is no such file.

    Raises:
        TokenizerError: The file is not a JSON object.
    """
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TokenizerError(f"{path} is not valid JSON ({error}): download or write the file again") from error
    if not isinstance(value, dict):
        raise TokenizerError(f"{path} should hold a JSON object, not {type(value).__name__}: write the file again")
    return value
