"""What else of a model's folder belongs to the quantized one: the tokenizer's files, templates, licenses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SUFFIXES = frozenset({".json", ".jinja", ".model", ".tiktoken", ".txt", ".vocab", ".merges"})
NAMES = ("LICENSE", "LICENCE", "NOTICE", "COPYING", "USE_POLICY")
CONFIG = "config.json"
INDEX_END = ".index.json"
DEPTH = 2
"""The folder, and those in it: pooling of embedding models is described there."""


def copy_files(source: Path, folder: Path) -> list[str]:
    """Copies them; returns their names."""
    copied = []
    for path in sorted(_files(source, DEPTH)):
        if path == source / CONFIG:
            continue
        target = folder / path.relative_to(source)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, target)
        copied.append(path.relative_to(source).as_posix())
    return copied


def write_config(config: Mapping[str, Any], quantization: Mapping[str, Any], folder: Path) -> None:
    """config.json, with ``quantization_config``."""
    content = {**config, "quantization_config": dict(quantization)}
    (folder / CONFIG).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _files(folder: Path, depth: int) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_dir():
            if depth > 1:
                yield from _files(path, depth - 1)
        elif _belongs(path):
            yield path


def _belongs(path: Path) -> bool:
    return not path.name.endswith(INDEX_END) and (path.suffix in SUFFIXES or path.name.upper().startswith(NAMES))
