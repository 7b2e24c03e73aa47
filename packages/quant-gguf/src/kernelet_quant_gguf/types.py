"""Types of tensors in a file: how many elements a block has in how many bytes, and the scheme that says the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kernelet.contracts.op import ScaleLevel, WeightScheme


@dataclass(frozen=True)
class TensorType:
    """How elements are stored.

    Attributes:
        name: As GGUF names it.
        block: Elements of a block, which lies in one row.
        nbytes: Bytes of a block.
        scheme: What it is in canonical form; None: numbers as they are, of ``dtype``.
        dtype: Torch's name of the dtype.
    """

    name: str
    block: int
    nbytes: int
    scheme: WeightScheme | None = None
    dtype: str = "uint8"

    def row_bytes(self, columns: int) -> int:
        """Bytes of a row, whose columns are whole blocks."""
        return columns // self.block * self.nbytes


SUPER = 256
"""Elements of the larger blocks, which share a scale of the scales."""


def _groups(element: str, *, offset: bool = False) -> WeightScheme:
    return WeightScheme(
        element=element, scales=(ScaleLevel("float16", (1, 32)),), zero_point="offset" if offset else None
    )


def _super(element: str, dtype: str, group: int, *, offset: bool = False) -> WeightScheme:
    levels = ScaleLevel(dtype, (1, group)), ScaleLevel("float16", (1, SUPER))
    return WeightScheme(element=element, scales=levels, zero_point="offset" if offset else None)


TYPES: Mapping[int, TensorType] = MappingProxyType(
    {
        0: TensorType("F32", 1, 4, dtype="float32"),
        1: TensorType("F16", 1, 2, dtype="float16"),
        30: TensorType("BF16", 1, 2, dtype="bfloat16"),
        2: TensorType("Q4_0", 32, 18, _groups("int4")),
        3: TensorType("Q4_1", 32, 20, _groups("uint4", offset=True)),
        6: TensorType("Q5_0", 32, 22, _groups("int5")),
        7: TensorType("Q5_1", 32, 24, _groups("uint5", offset=True)),
        8: TensorType("Q8_0", 32, 34, _groups("int8")),
        10: TensorType("Q2_K", SUPER, 84, _super("uint2", "uint8", 16, offset=True)),
        11: TensorType("Q3_K", SUPER, 110, _super("int3", "int8", 16)),
        12: TensorType("Q4_K", SUPER, 144, _super("uint4", "uint8", 32, offset=True)),
        13: TensorType("Q5_K", SUPER, 176, _super("uint5", "uint8", 32, offset=True)),
        14: TensorType("Q6_K", SUPER, 210, _super("int6", "int8", 16)),
    }
)
"""By the number in the file."""

BY_NAME: Mapping[str, TensorType] = MappingProxyType({one.name: one for one in TYPES.values()})

UNSERVED: Mapping[int, str] = MappingProxyType(
    {
        4: "Q4_2",
        5: "Q4_3",
        9: "Q8_1",
        15: "Q8_K",
        16: "IQ2_XXS",
        17: "IQ2_XS",
        18: "IQ3_XXS",
        19: "IQ1_S",
        20: "IQ4_NL",
        21: "IQ3_S",
        22: "IQ2_S",
        23: "IQ4_XS",
        24: "I8",
        25: "I16",
        26: "I32",
        27: "I64",
        28: "F64",
        29: "IQ1_M",
        34: "TQ1_0",
        35: "TQ2_0",
        39: "MXFP4",
        40: "NVFP4",
        41: "Q1_0",
    }
)
"""Names of the others, for the refusal."""
