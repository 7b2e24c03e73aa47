"""What the frontend needs to know of a model, without torch."""

from __future__ import annotations

from kernelet.contracts.model import HFConfig, ModelInfo
from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.resolve import resolve
from kernelet_models_decoder.ropes import served_len
from kernelet_models_decoder.rows import ROWS, row_of


def describe(config: HFConfig) -> ModelInfo:
    """Describes a model by its config.json, which is checked as a whole.

    Raises:
        UnsupportedModelError: for an architecture or a value that is not served; names the key.
    """
    names = [name for name in config.get("architectures") or () if any(row.architecture == name for row in ROWS)]
    if not names:
        raise UnsupportedModelError(f"architectures = {config.get('architectures')!r} in config.json is not served")
    row = row_of(names[0])
    spec = resolve(row, config)
    return ModelInfo(
        vocab_size=spec.vocab_size,
        max_model_len=served_len(spec.ropes),
        num_layers=len(spec.layers),
        hidden_size=spec.hidden_size,
        dtype=str(config.get("dtype") or config.get("torch_dtype") or ""),
        row=row.architecture,
    )
