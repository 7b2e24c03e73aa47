"""Weight kernels: the suite, the reference and canonical weights."""

from __future__ import annotations

from kernelet.testing.weight_kernel.cases import WeightKernelCapabilities
from kernelet.testing.weight_kernel.reference import ReferenceKernel, dequantize
from kernelet.testing.weight_kernel.schemes import SCHEMES, make_weights
from kernelet.testing.weight_kernel.suite import WeightKernelSuite

__all__ = [
    "SCHEMES",
    "ReferenceKernel",
    "WeightKernelCapabilities",
    "WeightKernelSuite",
    "dequantize",
    "make_weights",
]
