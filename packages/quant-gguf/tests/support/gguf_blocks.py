"""Random blocks of every type, and what they stand for by the format's own package."""

from __future__ import annotations

import numpy as np
from gguf import GGMLQuantizationType, quants

from kernelet_quant_gguf.types import BY_NAME

HALVES = {
    "Q4_0": (0,),
    "Q4_1": (0, 2),
    "Q5_0": (0,),
    "Q5_1": (0, 2),
    "Q8_0": (0,),
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q4_K": (0, 2),
    "Q5_K": (0, 2),
    "Q6_K": (208,),
}
"""Where float16 numbers lie in a block."""


def any_bytes(name, rows, columns, seed):
    """uint8 [rows, bytes of a row]: any bytes at all, so that scales are also infinite or no numbers."""
    kind = BY_NAME[name]
    return np.random.default_rng(seed).integers(0, 256, (rows, kind.row_bytes(columns)), dtype=np.uint8)


def usual_bytes(name, rows, columns, seed):
    """The same, with scales as weights of models have them."""
    kind, generator = BY_NAME[name], np.random.default_rng(seed)
    blocks = any_bytes(name, rows, columns, seed).reshape(rows, -1, kind.nbytes)
    for first in HALVES[name]:
        scales = generator.uniform(0.001, 0.01, blocks.shape[:2]).astype("<f2")
        blocks[:, :, first : first + 2] = scales[..., None].view(np.uint8)
    return blocks.reshape(rows, -1)


def dequantized(name, rows):
    """float32 [out, in] by the format's own package."""
    with np.errstate(all="ignore"):
        return quants.dequantize(rows, GGMLQuantizationType[name])
