"""Maps the tensors of a GGUF file to those of a Hugging Face Llama checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelet.errors import ModelNotFoundError

OUTER = MappingProxyType({"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"})
LAYER = MappingProxyType(
    {
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
)
LAYER_NAME = re.compile(r"blk\.(\d+)\.(\w+)\.weight")


def checkpoint_name(name: str) -> str:
    """The Hugging Face name of a GGUF tensor.

    Raises:
        ModelNotFoundError: if the tensor is not one of a Llama with tied embeddings.
    """
    if name in OUTER:
        return OUTER[name]
    match = LAYER_NAME.fullmatch(name)
    if match is None or match[2] not in LAYER:
        raise ModelNotFoundError(f"the model file has the unexpected tensor {name}")
    return f"model.layers.{match[1]}.{LAYER[match[2]]}.weight"


def heads_of(name: str, fields: Mapping[str, Any]) -> int | None:
    """Number of heads whose rows GGUF reordered for its rotary embedding; None: the rows are in place."""
    if name.endswith(".attn_q.weight"):
        return int(fields["llama.attention.head_count"])
    if name.endswith(".attn_k.weight"):
        return int(fields["llama.attention.head_count_kv"])
    return None


def undo_rotary_order(weight: npt.NDArray[np.float32], heads: int) -> npt.NDArray[np.float32]:
    """Puts the rows of q or k back into Hugging Face's order.

    GGUF keeps the two halves of a rotated pair next to each other (0, 1), Hugging Face half a head apart (0, dim / 2).

    Args:
        weight: [heads * dim, hidden].
        heads: Number of heads in it.
    """
    rows, hidden = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, hidden).swapaxes(1, 2).reshape(rows, hidden)
