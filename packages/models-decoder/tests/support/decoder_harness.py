"""Loads a decoder from a folder, by a row of the table or by another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from kernelet.loading.loader import load
from kernelet.loading.safetensors import SafetensorsReader
from kernelet.testing.tensors import make_context
from kernelet_models_decoder.decoder import DecoderModel
from kernelet_models_decoder.row import Row

BLOCK = 4


def load_decoder(
    folder: Path,
    *,
    max_model_len: int,
    row: Row | None = None,
    dtype: torch.dtype = torch.float32,
    config: Mapping[str, Any] | None = None,
) -> DecoderModel:
    """The model in a folder that transformers wrote, computed by a row; ``config`` replaces config.json."""
    values = dict(config or json.loads((folder / "config.json").read_text()))
    context = make_context(
        values, architecture=values["architectures"][0], max_model_len=max_model_len, dtype=dtype, block_size=BLOCK
    )
    with torch.inference_mode():
        model = DecoderModel(context, row)
        load(model, SafetensorsReader(folder))
    return model
