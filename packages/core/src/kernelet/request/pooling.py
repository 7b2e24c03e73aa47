"""Checks a request's pooling parameters before anything runs, and turns what the worker pooled into its vector."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernelet.contracts.pooling import POOLINGS, TASKS, PoolingParams
from kernelet.errors import ParameterError
from kernelet.request.values import boolean, integer, shown


def validate_pooling_params(params: object, hidden_size: int) -> PoolingParams:
    """The same parameters as Python's own values, with a task.

    Args:
        params: What the user gave; None: the defaults.
        hidden_size: Width of the model's states.

    Raises:
        ParameterError: naming the field, what came and what is allowed.
    """
    if params is None:
        params = PoolingParams()
    if not isinstance(params, PoolingParams):
        raise ParameterError("pooling_params", f"got {shown(params)}, expected PoolingParams")
    if params.dimensions is not None:
        dimensions = integer("dimensions", params.dimensions, 1, hidden_size)
        params = msgspec.structs.replace(params, dimensions=dimensions)
    if params.normalize is not None:
        params = msgspec.structs.replace(params, normalize=boolean("normalize", params.normalize))
    if params.pooling is not None:
        one_of("pooling", params.pooling, POOLINGS)
    task = "embed" if params.task is None else one_of("task", params.task, TASKS)
    return msgspec.structs.replace(params, task=task)


def one_of(name: str, value: object, choices: Sequence[str]) -> str:
    """One of some words.

    Raises:
        ParameterError: it is another.
    """
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(name, f"got {shown(value)}, expected one of {', '.join(choices)}")
    return value


def finish_vector(pooled: bytes, params: PoolingParams) -> NDArray[np.float32]:
    """What the user gets: the first ``dimensions`` numbers, of length 1 if ``normalize`` says so. Zeros stay zeros.

    Args:
        pooled: float32 [hidden] as bytes.
        params: Resolved.
    """
    vector = np.frombuffer(pooled, dtype=np.float32)[: params.dimensions]
    if not params.normalize:
        return vector.copy()
    wide = vector.astype(np.float64)
    norm = np.sqrt(np.sum(wide * wide))
    return (wide / norm if norm > 0 else wide).astype(np.float32)
