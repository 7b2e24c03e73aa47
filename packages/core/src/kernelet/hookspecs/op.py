"""Hooks that offer ops and weight kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.op import OpOffer, WeightKernelOffer


@hookspec
def kernelet_ops() -> Sequence[OpOffer]:
    """Offers implementations of ops by name.

    When: process start, while registries are filled.
    Process: worker.
    Returns: offers; duplicates of a name are an error.
    Order: one an op and dtype: of a stranger to the platform that was named, else the platform's, else by priority.
    Since: op 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_weight_kernels() -> Sequence[WeightKernelOffer]:
    """Offers kernels for weights by scheme and role.

    When: process start, while registries are filled.
    Process: worker.
    Returns: offers; duplicates of a name are an error.
    Order: one a layer: named, else what supports it, by priority.
    Since: op 1.0.
    """
    raise NotImplementedError
