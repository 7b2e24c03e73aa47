"""What a checkpoint says of its own embeddings: ``modules.json`` and the folders that it names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

MODES: Mapping[str, str] = MappingProxyType({"lasttoken": "last", "mean_tokens": "mean", "mean": "mean"})
"""Names there of what we have."""

KNOWN = ("Transformer", "Pooling", "Normalize")
"""Kinds of modules that are served, by the last part of their type."""


@dataclass(frozen=True, kw_only=True)
class CheckpointPooling:
    """How a checkpoint's embeddings are meant.

    Attributes:
        pooling: ``"last"`` or ``"mean"``; None: it does not say.
        normalize: None: it does not say.
        refused: Why embeddings as they are meant cannot be made; empty: they can.
    """

    pooling: str | None = None
    normalize: bool | None = None
    refused: str = ""


def read_pooling(folder: Path) -> CheckpointPooling:
    """Looks into a model's folder; one without ``modules.json`` says nothing."""
    path = folder / "modules.json"
    if not path.is_file():
        return CheckpointPooling()
    try:
        return _read(folder, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        return CheckpointPooling(refused=f"{path} cannot be read ({error!r})")


def _read(folder: Path, modules: list[dict[str, Any]]) -> CheckpointPooling:
    kinds = {str(module["type"]).rpartition(".")[2]: module for module in modules}
    if unknown := [kind for kind in kinds if kind not in KNOWN]:
        return CheckpointPooling(refused=f"its embeddings pass through {', '.join(unknown)}, which is not served")
    normalize = "Normalize" in kinds
    if "Pooling" not in kinds:
        return CheckpointPooling(normalize=normalize)
    said = json.loads((folder / str(kinds["Pooling"]["path"]) / "config.json").read_text(encoding="utf-8"))
    modes = _modes(said)
    if len(modes) != 1 or modes[0] not in MODES:
        return CheckpointPooling(refused=f"it pools by {' and '.join(modes) or 'nothing'}, which is not served")
    if MODES[modes[0]] == "mean" and said.get("include_prompt") is False:
        return CheckpointPooling(refused="its mean leaves the instruction out (include_prompt), which is not served")
    return CheckpointPooling(pooling=MODES[modes[0]], normalize=normalize)


def _modes(said: Mapping[str, Any]) -> list[str]:
    """Both forms: a flag for each way, or one word (or a list)."""
    named = said.get("pooling_mode")
    if named is not None:
        return [named] if isinstance(named, str) else [str(one) for one in named]
    prefix = "pooling_mode_"
    return [key.removeprefix(prefix) for key, value in said.items() if key.startswith(prefix) and value is True]
